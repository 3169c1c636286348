-- The whole schema. Times are microseconds since the epoch in UTC; flags are 0 or 1; JSON is text.
-- A foreign key has an index, so that deleting the row that it names scans no table.
-- {id} is the engine's type of a generated integer key, {blob} its type of bytes.

-- Accounts, credentials and repositories.

CREATE TABLE account (
    id {id},
    login TEXT NOT NULL,
    login_key TEXT NOT NULL UNIQUE,     -- lower case, because logins are compared without case
    kind TEXT NOT NULL,                 -- User or Organization
    name TEXT,
    email TEXT,
    site_admin INTEGER NOT NULL DEFAULT 0,
    password_hash TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- For an organization: whether it enforces single sign-on.
    sso SMALLINT NOT NULL DEFAULT 0,
    -- Fields that come from platforms' events.
    foreign_id BIGINT,    -- the platform's id
    description TEXT,
    -- 1: a placeholder that only events mention. An account that is created with its login replaces it.
    heard_of SMALLINT NOT NULL DEFAULT 0
);

CREATE INDEX account_site_admin ON account (id) WHERE site_admin = 1;
CREATE INDEX account_sso ON account (id) WHERE sso = 1;

CREATE TABLE membership (
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    role TEXT NOT NULL,                 -- admin or member
    public SMALLINT NOT NULL DEFAULT 0, -- 1: everybody may see the membership
    PRIMARY KEY (organization_id, account_id)
);

CREATE INDEX membership_account ON membership (account_id, organization_id, public);
CREATE INDEX membership_public ON membership (organization_id, account_id) WHERE public = 1;

-- How many memberships of each kind an account has, so that they need not be counted.
CREATE TABLE membership_tally (
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    public SMALLINT NOT NULL,           -- as in the membership
    memberships BIGINT NOT NULL,
    PRIMARY KEY (account_id, public)
);

CREATE TABLE repository (
    id {id},
    owner_id BIGINT NOT NULL REFERENCES account (id),
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    private INTEGER NOT NULL DEFAULT 0,
    description TEXT,
    default_branch TEXT NOT NULL DEFAULT 'main',
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    pushed_at BIGINT,
    stars BIGINT NOT NULL DEFAULT 0,
    foreign_id BIGINT,
    reported_at BIGINT,    -- the platform's time of the last update
    homepage TEXT,
    language TEXT,
    topics TEXT NOT NULL DEFAULT '[]',    -- JSON array
    fork SMALLINT NOT NULL DEFAULT 0,
    archived SMALLINT NOT NULL DEFAULT 0,
    forks BIGINT NOT NULL DEFAULT 0,
    size BIGINT NOT NULL DEFAULT 0,    -- in kB
    -- The number of watchers, stored because every representation of a repository shows it.
    watchers BIGINT NOT NULL DEFAULT 0,
    -- The features that the platform has switched on.
    has_issues SMALLINT NOT NULL DEFAULT 1,
    has_projects SMALLINT NOT NULL DEFAULT 0,
    has_wiki SMALLINT NOT NULL DEFAULT 0,
    has_pages SMALLINT NOT NULL DEFAULT 0,
    has_discussions SMALLINT NOT NULL DEFAULT 0,
    is_template SMALLINT NOT NULL DEFAULT 0,
    disabled SMALLINT NOT NULL DEFAULT 0,
    mirror_url TEXT,
    UNIQUE (owner_id, name_key)
);

-- Lists and counts an owner's repositories, private ones or only the others.
CREATE INDEX repository_created ON repository (owner_id, created_at, id, private);

-- How many repositories an owner has, so that they need not be counted.
CREATE TABLE repository_tally (
    owner_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    private INTEGER NOT NULL,           -- as in the repository
    repositories BIGINT NOT NULL,
    PRIMARY KEY (owner_id, private)
);

-- Finds a repository that the platform has renamed.
CREATE INDEX repository_foreign ON repository (owner_id, foreign_id);

CREATE TABLE collaborator (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    role TEXT NOT NULL,                 -- read, triage, write, maintain or admin
    PRIMARY KEY (repo_id, account_id)
);

CREATE INDEX collaborator_account ON collaborator (account_id, repo_id);

-- The accounts that have starred a repository. Some stars are only counted, in repository.stars.
CREATE TABLE star (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    -- NULL: the star was removed. An older event does not bring it back.
    starred_at BIGINT,
    reported_at BIGINT,
    PRIMARY KEY (repo_id, account_id)
);

CREATE INDEX star_listed ON star (repo_id, starred_at, account_id);

CREATE INDEX star_account ON star (account_id);

-- Applications, and the tokens that they hold for users.

CREATE TABLE app (
    id {id},
    owner_id BIGINT NOT NULL REFERENCES account (id),
    kind TEXT NOT NULL,                 -- oauth: tokens have scopes; integration: permissions
    name TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,      -- lower case, because names are compared without case
    slug TEXT NOT NULL UNIQUE,          -- the name in URLs
    url TEXT NOT NULL,
    description TEXT,
    permissions TEXT NOT NULL,          -- JSON object, name to level: the most its tokens may do
    events TEXT NOT NULL DEFAULT '[]',  -- JSON array: what its hook receives
    public SMALLINT NOT NULL DEFAULT 1, -- 1: everybody may see it
    -- For an integration: the account of kind Bot that its installations act as.
    bot_id BIGINT REFERENCES account (id),
    client_id TEXT NOT NULL UNIQUE,
    secret_hash TEXT NOT NULL,          -- SHA-256 of the client secret, which is not stored
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX app_owner ON app (owner_id);

CREATE INDEX app_bot ON app (bot_id) WHERE bot_id IS NOT NULL;

-- The public halves of the keys with which apps sign their requests for tokens.
CREATE TABLE app_key (
    id {id},
    app_id BIGINT NOT NULL REFERENCES app (id) ON DELETE CASCADE,
    public_key TEXT NOT NULL,           -- PEM
    fingerprint TEXT NOT NULL UNIQUE,   -- SHA-256 of the public key
    created_at BIGINT NOT NULL
);

CREATE INDEX app_key_app ON app_key (app_id, id);

-- Manifests of apps that are to be made. The code for each is valid once.
CREATE TABLE app_manifest (
    code_hash TEXT PRIMARY KEY,         -- SHA-256 of the code, which is not stored
    owner_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    manifest TEXT NOT NULL,             -- JSON object
    expires_at BIGINT NOT NULL
);

CREATE INDEX app_manifest_owner ON app_manifest (owner_id);

-- Apps on users and organizations.
CREATE TABLE installation (
    id {id},
    app_id BIGINT NOT NULL REFERENCES app (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    permissions TEXT NOT NULL,          -- JSON object, name to level: what the account has accepted
    events TEXT NOT NULL,               -- JSON array
    every_repository SMALLINT NOT NULL, -- 1: all of the account's; 0: only the chosen ones
    suspended_at BIGINT,
    suspended_by BIGINT REFERENCES account (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (app_id, account_id)
);

CREATE INDEX installation_account ON installation (account_id, id);

CREATE INDEX installation_listed ON installation (app_id, id);

CREATE INDEX installation_suspended_by ON installation (suspended_by)
    WHERE suspended_by IS NOT NULL;

CREATE TABLE installation_repository (
    installation_id BIGINT NOT NULL REFERENCES installation (id) ON DELETE CASCADE,
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    PRIMARY KEY (installation_id, repo_id)
);

CREATE INDEX installation_repository_repo ON installation_repository (repo_id);

CREATE TABLE token (
    id {id},
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,          -- SHA-256 of the value, which is not stored
    last_eight TEXT NOT NULL,
    note TEXT,
    scopes TEXT NOT NULL,               -- JSON array
    permissions TEXT NOT NULL,          -- JSON object, name to level
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    app_id BIGINT REFERENCES app (id) ON DELETE CASCADE,
    fingerprint TEXT,    -- distinguishes the tokens of one app for one user
    note_url TEXT,
    updated_at BIGINT NOT NULL DEFAULT 0,
    -- 1: made with a password, and so without single sign-on.
    by_password SMALLINT NOT NULL DEFAULT 0,
    -- For a scoped token: the owner of its repositories, and their ids (JSON array; NULL: all).
    target_id BIGINT REFERENCES account (id) ON DELETE CASCADE,
    repositories TEXT,
    -- 1: for a user, and only valid where the app is installed.
    where_installed SMALLINT NOT NULL DEFAULT 0,
    -- For an installation's token.
    installation_id BIGINT REFERENCES installation (id) ON DELETE CASCADE
);

CREATE INDEX token_account ON token (account_id, id);

CREATE INDEX token_installation ON token (installation_id) WHERE installation_id IS NOT NULL;

CREATE INDEX token_app ON token (app_id, account_id) WHERE app_id IS NOT NULL;

-- Tokens are found by their expiry.
CREATE INDEX token_expiry ON token (expires_at, id) WHERE expires_at IS NOT NULL;

CREATE INDEX token_target ON token (target_id) WHERE target_id IS NOT NULL;

-- Platforms that post their events here, each signed with its own secret.
CREATE TABLE source (
    id {id},
    name TEXT NOT NULL UNIQUE,
    secret {blob} NOT NULL,             -- encrypted
    owner_id BIGINT REFERENCES account (id),    -- if set, only this account's repositories
    created_at BIGINT NOT NULL
);

CREATE INDEX source_owner ON source (owner_id) WHERE owner_id IS NOT NULL;

-- Hooks. A hook has one target: a repository, an organization, or, if it names neither, the whole
-- installation. Each target has a column of its own, so that its hooks are deleted with it.

CREATE TABLE hook (
    id {id},
    repo_id BIGINT REFERENCES repository (id) ON DELETE CASCADE,
    org_id BIGINT REFERENCES account (id) ON DELETE CASCADE,
    app_id BIGINT REFERENCES app (id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    content_type TEXT NOT NULL,         -- json or form
    secret {blob},                      -- encrypted
    insecure_ssl INTEGER NOT NULL DEFAULT 0,
    active INTEGER NOT NULL DEFAULT 1,
    off_since BIGINT,                   -- when a person switched it off; NULL: it is on, or nobody did
    events TEXT NOT NULL,               -- JSON array
    options TEXT NOT NULL,              -- JSON object: the hook's delivery options
    filter TEXT,                        -- JSON: the filter in the options, for the fan-out
    disabled_reason TEXT,
    failing_since BIGINT,
    version BIGINT NOT NULL DEFAULT 1,  -- increases with changes, so that old copies are recognised
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT,
    -- The hook's former secret, which still signs until previous_until.
    previous_secret {blob},    -- encrypted
    previous_until BIGINT,
    -- After failures, the worker sends nothing to the endpoint until this time.
    resting_until BIGINT,
    -- The receiver asked, with Retry-After, for nothing before this time.
    held_until BIGINT,
    -- 1: the receiver has rejected the former secret and accepted the new one.
    secret_taken SMALLINT NOT NULL DEFAULT 0,
    -- While it is set, the hook's deliveries wait.
    paused_at BIGINT,
    key_set TEXT UNIQUE,                -- the public id of its signing keys
    option_secrets {blob},              -- encrypted: JSON, the secret values in the options
    certificate_ends_at BIGINT,         -- when the first certificate in the options ends
    -- Why the worker has paused the hook: it cannot be used as it is configured.
    pause_reason TEXT,
    handshake TEXT,                     -- pending, granted or failed; NULL: none is asked for
    handshake_rate BIGINT,              -- how many requests a minute the receiver allows
    pull SMALLINT NOT NULL DEFAULT 0,   -- 1: its receiver fetches the deliveries
    -- For an organization's hook: the OAuth application whose token created it. NULL: a user did.
    oauth_app_id BIGINT REFERENCES app (id) ON DELETE SET NULL
);

-- The keys with which hooks' deliveries are signed.
CREATE TABLE signing_key (
    id {id},
    hook_id BIGINT NOT NULL REFERENCES hook (id) ON DELETE CASCADE,
    private {blob} NOT NULL,            -- encrypted
    public TEXT NOT NULL,               -- base64
    created_at BIGINT NOT NULL,
    ends_at BIGINT                      -- a former key signs until this time
);

CREATE INDEX signing_key_hook ON signing_key (hook_id, id);

CREATE INDEX signing_key_ends ON signing_key (ends_at) WHERE ends_at IS NOT NULL;

CREATE INDEX hook_repository ON hook (repo_id, id);

CREATE INDEX hook_listed ON hook (repo_id, id) WHERE deleted_at IS NULL;

CREATE INDEX hook_organization ON hook (org_id, id) WHERE org_id IS NOT NULL;

CREATE INDEX hook_app ON hook (app_id, id) WHERE app_id IS NOT NULL;

CREATE INDEX hook_oauth_app ON hook (oauth_app_id) WHERE oauth_app_id IS NOT NULL;

-- A new hook is compared with the target's hooks of its URL. PostgreSQL cannot index long texts.

CREATE INDEX hook_repository_url ON hook (repo_id, substr(url, 1, 500))
    WHERE repo_id IS NOT NULL AND deleted_at IS NULL;

CREATE INDEX hook_organization_url ON hook (org_id, substr(url, 1, 500))
    WHERE org_id IS NOT NULL AND deleted_at IS NULL;

CREATE INDEX hook_system ON hook (id) WHERE repo_id IS NULL AND org_id IS NULL AND app_id IS NULL;

CREATE INDEX hook_disabled ON hook (id) WHERE disabled_reason IS NOT NULL AND deleted_at IS NULL;

CREATE INDEX hook_failing ON hook (id) WHERE failing_since IS NOT NULL AND deleted_at IS NULL;

CREATE INDEX hook_certificate_ends ON hook (certificate_ends_at)
    WHERE certificate_ends_at IS NOT NULL AND deleted_at IS NULL;

CREATE INDEX hook_deleted ON hook (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE INDEX hook_paused ON hook (id) WHERE paused_at IS NOT NULL;

CREATE INDEX hook_pull ON hook (id) WHERE pull = 1;

-- The programs that fetch the deliveries of pull hooks.
CREATE TABLE pull_consumer (
    hook_id BIGINT NOT NULL REFERENCES hook (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    since BIGINT NOT NULL,               -- when it came, the last time
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (hook_id, name)
);

-- Hooks that are or were ordered.
CREATE TABLE hook_ordering (
    hook_id BIGINT PRIMARY KEY REFERENCES hook (id) ON DELETE CASCADE,
    ordering TEXT NOT NULL,              -- none, hook, repository, or a JSON Pointer
    blocks SMALLINT NOT NULL,            -- 1: after a death, a key waits for an operator
    active SMALLINT NOT NULL,            -- 1: new deliveries are ordered
    stopped SMALLINT NOT NULL,           -- 1: the hook is inactive, and its deliveries wait
    sequence BIGINT NOT NULL DEFAULT 0,  -- the newest delivery's
    -- JSON array of sequences: deliveries after one wait until all before it have ended.
    barriers TEXT NOT NULL DEFAULT '[]',
    keyless BIGINT NOT NULL DEFAULT 0    -- deliveries whose payload had no key
);

CREATE INDEX hook_ordering_active ON hook_ordering (hook_id) WHERE active = 1;

CREATE INDEX hook_ordering_stopped ON hook_ordering (hook_id) WHERE stopped = 1;

-- Keys of ordered hooks in which a delivery died since the last one was delivered.
CREATE TABLE ordering_key (
    id {id},
    hook_id BIGINT NOT NULL REFERENCES hook (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    gap TEXT NOT NULL,                   -- JSON array of guids: the events that died
    -- While the key waits for an operator: the delivery that died, its event, and when.
    blocked_by BIGINT,
    blocked_event_id BIGINT,
    blocked_at BIGINT,
    UNIQUE (hook_id, key)
);

CREATE INDEX hook_previous ON hook (previous_until) WHERE previous_until IS NOT NULL;

-- Events. The partition key of all following tables is the repository.

CREATE TABLE event (
    id {id},
    guid TEXT NOT NULL,
    scope BIGINT NOT NULL,              -- the namespace of its guid: a repository, or minus a source
    repo_id BIGINT NOT NULL,            -- 0: no known repository
    org_id BIGINT NOT NULL DEFAULT 0,   -- without a repository: the organization; 0: none
    source_id BIGINT NOT NULL DEFAULT 0,
    token_id BIGINT,                    -- the token that posted it, which may be deleted since
    name TEXT NOT NULL,
    action TEXT,
    installation_id BIGINT,
    received_at BIGINT NOT NULL,
    size BIGINT NOT NULL,
    digest {blob} NOT NULL,             -- of the body, to recognise a repetition
    body {blob},                        -- zstd; NULL after retention has deleted it
    traceparent TEXT,                   -- the trace from which it comes, if its sender named one
    tracestate TEXT,
    UNIQUE (guid, scope)
);

CREATE INDEX event_kept ON event (id) WHERE body IS NOT NULL;

CREATE INDEX event_repository ON event (repo_id, name, id);

CREATE INDEX event_token ON event (token_id, id) WHERE token_id IS NOT NULL;

-- A repository's events in their order.
CREATE INDEX event_in_order ON event (repo_id, id);

-- Deliveries of events to hooks. These rows are the queue.
CREATE TABLE delivery (
    id {id},
    event_id BIGINT NOT NULL,
    hook_id BIGINT NOT NULL,
    repo_id BIGINT NOT NULL,
    -- 0 waiting, 1 delivered, 2 dead, 3 filtered, 4 behind others of its key
    state SMALLINT NOT NULL,
    attempts SMALLINT NOT NULL DEFAULT 0,
    throttled SMALLINT NOT NULL DEFAULT 0, -- attempts answered 429, which use up no retry
    redelivery SMALLINT NOT NULL DEFAULT 0,
    due_at BIGINT NOT NULL,             -- while waiting: not before this time; afterwards: when it ended
    -- The lease of the worker that has claimed it. Below 0: minus the id of a pull_lease.
    lease_id BIGINT,
    reason TEXT,                        -- why it died or was filtered, without an attempt
    -- In an ordered hook: its key, its number, and whether it was redelivered out of turn.
    ordering_key TEXT,
    sequence BIGINT,
    out_of_turn SMALLINT NOT NULL DEFAULT 0,
    -- If its worker lost its lease: the time by which its last request has ended.
    in_flight_until BIGINT
);

-- What hooks have filtered, to count it.
CREATE INDEX delivery_filtered ON delivery (hook_id, id) WHERE state = 3;

CREATE INDEX delivery_due ON delivery (hook_id, due_at) WHERE state = 0 AND lease_id IS NULL;

CREATE INDEX delivery_event ON delivery (event_id);

CREATE INDEX delivery_leased ON delivery (lease_id, due_at) WHERE lease_id IS NOT NULL;

-- The deliveries of a key that have not ended, in their order.
CREATE INDEX delivery_ordered ON delivery (hook_id, ordering_key, out_of_turn, sequence)
    WHERE ordering_key IS NOT NULL AND state IN (0, 4);

-- The same whatever their key is: finds out whether all before a barrier have ended.
CREATE INDEX delivery_in_sequence ON delivery (hook_id, sequence)
    WHERE ordering_key IS NOT NULL AND state IN (0, 4) AND out_of_turn = 0;

CREATE TABLE attempt (
    id {id},
    delivery_id BIGINT NOT NULL,
    hook_id BIGINT NOT NULL,
    event_id BIGINT NOT NULL,
    repo_id BIGINT NOT NULL,
    number SMALLINT NOT NULL,           -- 1 for a delivery's first attempt
    redelivery SMALLINT NOT NULL,
    started_at BIGINT NOT NULL,
    duration BIGINT NOT NULL,           -- microseconds
    status_code SMALLINT,
    error TEXT,                         -- the stage and the error
    url TEXT NOT NULL,
    address TEXT,                       -- the address that was connected to
    timings TEXT NOT NULL,              -- JSON object, stage to microseconds
    request_head TEXT NOT NULL,         -- as sent
    response_head TEXT,                 -- as received, up to a limit
    response_body TEXT,
    instruction TEXT,                   -- what the receiver asked for, such as retry-after=120
    installation_id BIGINT,             -- for an app's hook: the installation in the payload
    -- For a pull hook: when the attempt was recorded, which may be long after its start.
    recorded_at BIGINT
);

CREATE INDEX attempt_hook ON attempt (hook_id, id);

CREATE INDEX attempt_recorded ON attempt (recorded_at) WHERE recorded_at IS NOT NULL;

CREATE INDEX attempt_delivery ON attempt (delivery_id);

-- The index of the texts of attempts: portions of 512 ids. See store/text_index.
CREATE TABLE text_portion (
    portion BIGINT PRIMARY KEY,
    removals BIGINT NOT NULL,           -- how often an attempt or a payload of it was deleted
    indexed_at BIGINT,                  -- NULL: not yet
    due_at BIGINT                       -- when it is indexed, or indexed again
);

CREATE INDEX text_portion_due ON text_portion (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE text_slice (
    portion BIGINT NOT NULL,
    part BIGINT NOT NULL,
    slices {blob} NOT NULL,             -- zstd
    PRIMARY KEY (portion, part)
);

-- Finds the few failed attempts among many successful ones.
CREATE INDEX attempt_failed ON attempt (id)
    WHERE status_code IS NULL OR status_code NOT BETWEEN 200 AND 299 OR error IS NOT NULL;

-- Also has what a list of problems counts, so that the attempts themselves are not read.
CREATE INDEX attempt_hook_failed ON attempt (hook_id, id, delivery_id, started_at, duration)
    WHERE status_code IS NULL OR status_code NOT BETWEEN 200 AND 299 OR error IS NOT NULL;

-- A worker's claim on deliveries, valid until it expires.
CREATE TABLE lease (
    id {id},
    holder TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    -- When the worker last renewed the lease, and how far it lagged behind then.
    seen_at BIGINT NOT NULL DEFAULT 0,
    lag BIGINT NOT NULL DEFAULT 0    -- microseconds
);

-- A consumer's claim on one delivery of a pull hook. It stays for a while after its end, so that a
-- repeated request gets the same answer. Deleted hooks may still have leases.
CREATE TABLE pull_lease (
    id {id},
    hook_id BIGINT NOT NULL,
    delivery_id BIGINT NOT NULL,
    consumer TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT,
    result TEXT,                         -- acked, nacked or lapsed
    request_head TEXT NOT NULL           -- the headers as handed out; empty after the end
);

CREATE INDEX pull_lease_open ON pull_lease (hook_id, consumer) WHERE ended_at IS NULL;

CREATE INDEX pull_lease_expires ON pull_lease (expires_at) WHERE ended_at IS NULL;

CREATE INDEX pull_lease_ended ON pull_lease (ended_at) WHERE ended_at IS NOT NULL;

-- Rejected requests of known senders.
CREATE TABLE refusal (
    id {id},
    at BIGINT NOT NULL,
    path TEXT NOT NULL,
    address TEXT,
    sender TEXT,
    event TEXT,
    guid TEXT,
    size BIGINT,
    reason TEXT NOT NULL
);

-- Each caller's use of its rate limits in the current window.
CREATE TABLE spent (
    subject TEXT NOT NULL,              -- an account, an application or an address
    resource TEXT NOT NULL,             -- the limit
    window_start BIGINT NOT NULL,       -- seconds since the epoch
    window_end BIGINT NOT NULL,
    used BIGINT NOT NULL,
    PRIMARY KEY (subject, resource)
);

-- Recent failed logins, by login and by address.
CREATE TABLE failed_login (
    who TEXT PRIMARY KEY,
    times INTEGER NOT NULL,
    since BIGINT NOT NULL
);

-- Former names of repositories, so that old links still work.
CREATE TABLE repository_name (
    owner_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    name_key TEXT NOT NULL,
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    PRIMARY KEY (owner_id, name_key)
);

CREATE INDEX repository_name_repository ON repository_name (repo_id);

CREATE TABLE token_authorization (
    token_id BIGINT NOT NULL REFERENCES token (id) ON DELETE CASCADE,
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (token_id, organization_id)
);

CREATE INDEX token_authorization_organization ON token_authorization (organization_id);

-- Grants: a user permits an application to act. They outlive their tokens.
CREATE TABLE app_grant (
    id {id},
    app_id BIGINT NOT NULL REFERENCES app (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (account_id, app_id)
);

-- Grants are listed by account.
CREATE INDEX app_grant_account ON app_grant (account_id, id);

CREATE INDEX app_grant_app ON app_grant (app_id);

-- The secret of an account's one-time passwords.
CREATE TABLE one_time (
    account_id BIGINT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    secret {blob} NOT NULL,             -- encrypted, base 32
    used_step BIGINT NOT NULL,          -- the time step of the last accepted code; earlier ones are invalid
    created_at BIGINT NOT NULL
);

-- Watching and ignoring repositories. Stars are separate.
CREATE TABLE watching (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    subscribed SMALLINT NOT NULL,
    ignored SMALLINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (repo_id, account_id)
);

CREATE INDEX watching_watchers ON watching (repo_id, created_at, account_id) WHERE subscribed = 1;

CREATE INDEX watching_account ON watching (account_id, subscribed, created_at, repo_id);

-- The addresses of an account. The first one becomes the primary.
CREATE TABLE email (
    id {id},
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL UNIQUE,     -- lower case, because an address belongs to one account in any case
    is_primary SMALLINT NOT NULL,
    verified SMALLINT NOT NULL,
    visibility TEXT,                    -- public or private; NULL except for the primary
    created_at BIGINT NOT NULL
);

CREATE INDEX email_account ON email (account_id, id);

CREATE UNIQUE INDEX email_primary ON email (account_id) WHERE is_primary = 1;

-- The people whom OpenID Connect providers know, each with the user whom they sign in as.
CREATE TABLE openid_link (
    id {id},
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,              -- the issuer's name for the person, which it never gives to another
    created_at BIGINT NOT NULL,
    used_at BIGINT,                     -- the latest sign-in; NULL: none yet
    UNIQUE (issuer, subject),
    UNIQUE (account_id, issuer)
);

-- A branch's license file, and what was recognised when it was stored.
CREATE TABLE license_file (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    branch TEXT NOT NULL,
    path TEXT NOT NULL,
    sha TEXT NOT NULL,                  -- SHA of the git blob
    content {blob} NOT NULL,
    html TEXT,                          -- rendered, not sanitised; NULL if it is not Markdown
    license TEXT NOT NULL,              -- the license's key, or other
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (repo_id, branch)
);

-- WebSub subscriptions. In the queue and in the records of deliveries, each is the hook -id.
CREATE TABLE websub (
    id {id},
    key TEXT NOT NULL UNIQUE,           -- digest of the topic and the callback
    repo_id BIGINT NOT NULL,            -- 0: the topic is hosted elsewhere
    topic_key TEXT NOT NULL,            -- the name of the repository's topic, or a digest of the topic's URL
    topic TEXT NOT NULL,                -- as the subscriber wrote it
    self_url TEXT NOT NULL,             -- the topic's canonical URL
    hub TEXT NOT NULL,                  -- the hub's URL, as it was advertised
    callback TEXT NOT NULL,             -- unchanged, byte for byte
    secret {blob},                      -- encrypted
    lease_ends_at BIGINT NOT NULL,
    request_id BIGINT NOT NULL,         -- the latest verified request
    version BIGINT NOT NULL DEFAULT 1,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    ended_at BIGINT,
    reason TEXT,                         -- why it ended
    -- The host of the callback; empty in subscriptions older than this column.
    host TEXT NOT NULL DEFAULT '',
    held_until BIGINT                   -- the subscriber asked for nothing before this time
);

CREATE INDEX websub_topic_followed ON websub (repo_id, topic_key) WHERE ended_at IS NULL;

CREATE INDEX websub_lease ON websub (lease_ends_at) WHERE ended_at IS NULL;

CREATE INDEX websub_host_followed ON websub (repo_id, topic_key, host) WHERE ended_at IS NULL;

-- Requests that wait for the verification of their intent, and denials to send.
CREATE TABLE websub_request (
    id {id},
    mode TEXT NOT NULL,                 -- subscribe, unsubscribe or denied
    key TEXT NOT NULL,
    repo_id BIGINT NOT NULL,
    topic_key TEXT NOT NULL,
    topic TEXT NOT NULL,
    self_url TEXT NOT NULL,
    hub TEXT NOT NULL,
    callback TEXT NOT NULL,
    secret {blob},                      -- encrypted
    lease_seconds BIGINT NOT NULL,
    verify_token {blob},                -- encrypted
    reason TEXT,                        -- why it is denied
    host TEXT NOT NULL,                 -- of the callback
    client TEXT NOT NULL,               -- the address of the client; empty for a denial
    created_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    taken_until BIGINT NOT NULL DEFAULT 0,
    tries SMALLINT NOT NULL DEFAULT 0,
    done_at BIGINT,
    outcome TEXT
);

CREATE INDEX websub_request_due ON websub_request (due_at) WHERE done_at IS NULL;

CREATE INDEX websub_request_host ON websub_request (host, created_at);

CREATE INDEX websub_request_client ON websub_request (client, created_at);

-- Topics that are hosted elsewhere: their last fetch, and when the next one is due.
CREATE TABLE websub_topic (
    id {id},
    key TEXT NOT NULL UNIQUE,           -- digest of the URL
    url TEXT NOT NULL,
    due_at BIGINT,                      -- NULL: no fetch is due
    taken_until BIGINT NOT NULL DEFAULT 0,
    tries SMALLINT NOT NULL DEFAULT 0,
    fetched_at BIGINT,
    etag TEXT,
    last_modified TEXT,
    digest TEXT,                        -- of the content that was distributed last
    event_id BIGINT,                    -- the event of that distribution
    part_id BIGINT,                     -- the event with only its new entries
    error TEXT
);

CREATE INDEX websub_topic_due ON websub_topic (due_at) WHERE due_at IS NOT NULL;

-- The media type of a distributed topic that is hosted elsewhere.
CREATE TABLE websub_content (
    event_id BIGINT PRIMARY KEY REFERENCES event (id) ON DELETE CASCADE,
    content_type TEXT NOT NULL
);

CREATE TABLE subscription (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    event TEXT NOT NULL,                -- a name, or * for all of the platform's events
    hook_id BIGINT NOT NULL,
    PRIMARY KEY (repo_id, event, hook_id)
);

CREATE INDEX subscription_hook ON subscription (hook_id, repo_id);

-- The same for hooks that get the events of an owner's repositories, whichever these are. So their
-- number does not grow with the repositories.
CREATE TABLE owner_subscription (
    owner_id BIGINT NOT NULL,           -- an account; 0: the whole installation
    event TEXT NOT NULL,
    hook_id BIGINT NOT NULL REFERENCES hook (id) ON DELETE CASCADE,
    PRIMARY KEY (owner_id, event, hook_id)
);

CREATE INDEX owner_subscription_hook ON owner_subscription (hook_id, owner_id);

CREATE TABLE label (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,             -- lower case
    foreign_id BIGINT,
    color TEXT NOT NULL,                -- six hexadecimal digits
    description TEXT,
    is_default SMALLINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    changed_at BIGINT,                  -- when an operation last changed it
    UNIQUE (repo_id, name_key)
);

CREATE TABLE milestone (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    foreign_id BIGINT,
    title TEXT NOT NULL,
    description TEXT,
    state TEXT NOT NULL,                -- open or closed
    creator_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    open_issues BIGINT NOT NULL DEFAULT 0,      -- as the platform counts them
    closed_issues BIGINT NOT NULL DEFAULT 0,
    open_here BIGINT NOT NULL DEFAULT 0,        -- what operations added to the platform's counts
    closed_here BIGINT NOT NULL DEFAULT 0,
    changed_at BIGINT,                          -- when an operation last changed the counts
    edited_at BIGINT,                           -- when an operation last changed the rest
    due_on BIGINT,
    closed_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    reported_at BIGINT,                     -- the platform's time of the last update
    made_here SMALLINT NOT NULL DEFAULT 0,  -- 1: an operation made it
    UNIQUE (repo_id, number)
);

-- Milestones without a due date come last.
CREATE INDEX milestone_due
    ON milestone (repo_id, state, coalesce(due_on, 4611686018427387904), number);

CREATE INDEX milestone_creator ON milestone (creator_id) WHERE creator_id IS NOT NULL;

-- Issues, and the fields that pull requests share with them.
CREATE TABLE issue (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    foreign_id BIGINT,
    is_pull SMALLINT NOT NULL DEFAULT 0,
    title TEXT NOT NULL,
    body TEXT,
    state TEXT NOT NULL,                -- open or closed
    state_reason TEXT,
    author_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    author_association TEXT NOT NULL DEFAULT 'NONE',
    closed_by_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    milestone_id BIGINT REFERENCES milestone (id) ON DELETE SET NULL,
    locked SMALLINT NOT NULL DEFAULT 0,
    lock_reason TEXT,
    comments BIGINT NOT NULL DEFAULT 0,
    comments_seen BIGINT NOT NULL DEFAULT 0,    -- the platform's comments that came, and it still has
    comments_unseen BIGINT NOT NULL DEFAULT 0,  -- its comments that did not come; part of comments
    closed_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    reported_at BIGINT,                     -- the platform's time of the last update
    changed_at BIGINT,                      -- when an operation last changed it
    deleted_at BIGINT,
    moved_to TEXT,                      -- owner/name of the repository to which it was transferred
    moved_number BIGINT,                -- its number there
    moved_repo_id BIGINT,               -- the id of that repository, if it was known here. It may be gone
    type TEXT,                          -- JSON object: the organization's type of issues
    type_key TEXT,                      -- its name in lower case
    made_here SMALLINT NOT NULL DEFAULT 0,  -- 1: an operation made it
    UNIQUE (repo_id, number)
);

-- The lists of a repository's issues, by each order.
CREATE INDEX issue_created ON issue (repo_id, created_at, id);

CREATE INDEX issue_updated ON issue (repo_id, updated_at, id);

CREATE INDEX issue_milestone ON issue (milestone_id, state) WHERE milestone_id IS NOT NULL;

-- How many issues of a repository are open, so that they need not be counted.
CREATE TABLE issue_tally (
    repo_id BIGINT PRIMARY KEY REFERENCES repository (id) ON DELETE CASCADE,
    open_issues BIGINT NOT NULL         -- open pull requests too
);

-- Finds the authors of pull requests in a repository.
CREATE INDEX issue_pull_author ON issue (repo_id, author_id) WHERE is_pull = 1;

-- Also lists the issues of an author in a repository.
CREATE INDEX issue_author ON issue (author_id, repo_id, created_at, id, is_pull)
    WHERE author_id IS NOT NULL;

CREATE INDEX issue_closed_by ON issue (closed_by_id) WHERE closed_by_id IS NOT NULL;

CREATE TABLE issue_label (
    issue_id BIGINT NOT NULL REFERENCES issue (id) ON DELETE CASCADE,
    label_id BIGINT NOT NULL REFERENCES label (id) ON DELETE CASCADE,
    PRIMARY KEY (issue_id, label_id)
);

CREATE INDEX issue_label_label ON issue_label (label_id);

-- What operations changed in issues, until the platform reports a later state: older payloads do not
-- change it back.
CREATE TABLE issue_own_change (
    issue_id BIGINT NOT NULL REFERENCES issue (id) ON DELETE CASCADE,
    part TEXT NOT NULL,                 -- title, body, state, lock, label, assignee, field, ...
    item BIGINT NOT NULL,               -- the id of the label, account or field; 0 for other parts
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (issue_id, part, item)
);

CREATE TABLE issue_assignee (
    issue_id BIGINT NOT NULL REFERENCES issue (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    PRIMARY KEY (issue_id, account_id)
);

CREATE INDEX issue_assignee_account ON issue_assignee (account_id);

-- The fields of a pull request beyond its issue.
CREATE TABLE pull (
    id {id},
    issue_id BIGINT NOT NULL UNIQUE REFERENCES issue (id) ON DELETE CASCADE,
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    foreign_id BIGINT,
    draft SMALLINT NOT NULL DEFAULT 0,
    head_ref TEXT NOT NULL,
    head_sha TEXT NOT NULL,
    head_repo TEXT,                     -- owner/name; NULL if that repository is gone
    base_ref TEXT NOT NULL,
    base_sha TEXT NOT NULL,
    merged_at BIGINT,
    merged_by_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    merge_commit_sha TEXT,
    details TEXT NOT NULL DEFAULT '{{}}', -- JSON object: reviewers, sizes, and more that platforms tell
    reported_at BIGINT                  -- the platform's time of the last update of the pull request
);

-- Finds a user's open pull requests, which a cap counts.
CREATE INDEX issue_open_pull ON issue (author_id, repo_id) WHERE is_pull = 1 AND state = 'open';

CREATE INDEX pull_head ON pull (repo_id, head_sha);

-- Finds the pull requests of a branch when it is pushed or deleted.
CREATE INDEX pull_branch ON pull (repo_id, head_ref);

-- Finds the pull requests from a repository that gets another name.
CREATE INDEX pull_head_repo ON pull (lower(head_repo));

CREATE INDEX pull_merged_by ON pull (merged_by_id) WHERE merged_by_id IS NOT NULL;

-- The cursor of the projection of events onto the state: one row, after the first events.
CREATE TABLE reflection (
    id INTEGER PRIMARY KEY,             -- always 1
    event_id BIGINT NOT NULL,           -- the last projected event
    skipped BIGINT NOT NULL DEFAULT 0,  -- how many events could not be projected
    lease_id BIGINT,                    -- the lease of the worker that projects
    moved_at BIGINT NOT NULL
);

-- Branches and tags, from push events.
CREATE TABLE ref (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    name TEXT NOT NULL,                 -- the full name: refs/heads/main
    sha TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- What the push said about the commit: JSON; NULL if the commit is known by its SHA only.
    head TEXT,
    UNIQUE (repo_id, name)
);

-- The platform's time of the last push or deletion of each branch and tag, also of deleted ones for
-- a time.
CREATE TABLE ref_report (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    reported_at BIGINT,
    gone_at BIGINT,                     -- since when the ref is gone; NULL: it is there
    PRIMARY KEY (repo_id, name)
);

CREATE INDEX ref_report_gone ON ref_report (gone_at) WHERE gone_at IS NOT NULL;

-- Patterns of branch names that the platform protects.
CREATE TABLE protected_branch (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    pattern TEXT NOT NULL,
    foreign_id BIGINT,
    reported_at BIGINT,
    PRIMARY KEY (repo_id, pattern)
);

-- Lists the branches or the tags: the first ten characters tell them apart.
CREATE INDEX ref_folder ON ref (repo_id, substr(name, 1, 10), name);

-- How many branches and tags a repository has, so that they need not be counted.
CREATE TABLE ref_tally (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    folder TEXT NOT NULL,               -- the first ten characters of their names
    refs BIGINT NOT NULL,
    PRIMARY KEY (repo_id, folder)
);

-- Finds the branches at a commit.
CREATE INDEX ref_commit ON ref (repo_id, sha);

-- Comments on commits.

CREATE TABLE commit_comment (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    foreign_id BIGINT,                  -- the platform's id
    commit_id TEXT NOT NULL,            -- the full SHA, lower case
    path TEXT,
    position BIGINT,                    -- line in the diff
    line BIGINT,                        -- line in the file
    author_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    author_association TEXT NOT NULL,
    body TEXT NOT NULL,
    html TEXT NOT NULL,                 -- rendered and sanitised
    plain TEXT NOT NULL,                -- without markup
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    reported_at BIGINT,                     -- the platform's time of the last update
    changed_at BIGINT,                      -- when an operation last changed it
    UNIQUE (repo_id, foreign_id)
);

CREATE INDEX commit_comment_repository ON commit_comment (repo_id, id);

CREATE INDEX commit_comment_commit ON commit_comment (repo_id, commit_id, id);

CREATE INDEX commit_comment_author ON commit_comment (author_id) WHERE author_id IS NOT NULL;

-- Events of issues and pull requests, and comments on them.

CREATE TABLE issue_event (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    issue_id BIGINT NOT NULL REFERENCES issue (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,                 -- closed, labeled, commented, ...
    actor_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    commit_id TEXT,
    subject_id BIGINT,                  -- the comment, review or issue in question
    members TEXT NOT NULL,              -- JSON object: the members of its kind
    listed SMALLINT NOT NULL,           -- whether the list of events has it
    shown SMALLINT NOT NULL,            -- whether the timeline has it
    digest TEXT NOT NULL,               -- of the other columns, to recognise a repetition
    created_at BIGINT NOT NULL,
    said_at BIGINT,                     -- the platform's time; created_at is its reception at the latest
    UNIQUE (issue_id, kind, created_at, digest)
);

-- Recognises what a platform with a fast clock reports twice.
CREATE UNIQUE INDEX issue_event_said ON issue_event (issue_id, kind, said_at, digest)
    WHERE said_at IS NOT NULL;

CREATE INDEX issue_event_repository ON issue_event (repo_id, listed, created_at, id);

CREATE INDEX issue_event_issue ON issue_event (issue_id, listed, created_at, id);

CREATE INDEX issue_event_timeline ON issue_event (issue_id, shown, created_at, id);

CREATE INDEX issue_event_subject ON issue_event (subject_id, kind) WHERE subject_id IS NOT NULL;

-- Also finds whether an issue mentions somebody.
CREATE INDEX issue_event_actor ON issue_event (actor_id, issue_id, kind)
    WHERE actor_id IS NOT NULL;

-- Comments on issues and pull requests, reviews, and comments on a line.
CREATE TABLE issue_comment (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    issue_id BIGINT NOT NULL REFERENCES issue (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,                 -- comment, review or line
    number BIGINT,                      -- the public id: the platform's, or its own id
    author_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    author_association TEXT NOT NULL,
    body TEXT,
    state TEXT,                         -- of a review: approved, changes_requested, ...
    commit_id TEXT,
    details TEXT NOT NULL,              -- JSON object: the position of a comment on a line
    review_number BIGINT,               -- the public id of the review with a comment on a line
    pinned_at BIGINT,
    pinned_by_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    reported_at BIGINT,                     -- the platform's time of the last update
    changed_at BIGINT,                      -- when an operation last changed it
    made_here SMALLINT NOT NULL DEFAULT 0,  -- 1: an operation made it
    UNIQUE (repo_id, kind, number)
);

-- The platform's comments, labels, milestones and rules that were deleted: older payloads do not
-- bring them back.
CREATE TABLE deletion (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,                 -- comment, review, line, commit, label, milestone, rule or pin,
                                        -- or milestone number
    number BIGINT NOT NULL,             -- the platform's id, or a number that is not used again
    deleted_at BIGINT NOT NULL,         -- when an operation deleted it; 2^63 - 1: the platform did
    PRIMARY KEY (repo_id, kind, number)
);

CREATE INDEX issue_comment_issue ON issue_comment (issue_id, kind, number);

CREATE INDEX issue_comment_review ON issue_comment (issue_id, review_number, number)
    WHERE review_number IS NOT NULL;

-- The lists of a repository's comments, by each order.
CREATE INDEX issue_comment_created ON issue_comment (repo_id, kind, created_at, id);

CREATE INDEX issue_comment_updated ON issue_comment (repo_id, kind, updated_at, id);

CREATE INDEX issue_comment_pinned ON issue_comment (issue_id) WHERE pinned_at IS NOT NULL;

CREATE INDEX issue_comment_author ON issue_comment (author_id) WHERE author_id IS NOT NULL;

CREATE INDEX issue_comment_pinned_by ON issue_comment (pinned_by_id) WHERE pinned_by_id IS NOT NULL;

-- Custom fields that an organization defines for issues, and their values.

CREATE TABLE issue_field (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,             -- lower case
    description TEXT,
    data_type TEXT NOT NULL,            -- text, number, date, single_select or multi_select
    visibility TEXT NOT NULL,           -- organization_members_only or all
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (organization_id, name_key)
);

CREATE TABLE issue_field_option (
    id {id},
    field_id BIGINT NOT NULL REFERENCES issue_field (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,             -- lower case
    description TEXT,
    color TEXT NOT NULL,
    priority BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (field_id, name_key)
);

CREATE TABLE issue_field_value (
    id {id},
    issue_id BIGINT NOT NULL REFERENCES issue (id) ON DELETE CASCADE,
    field_id BIGINT NOT NULL REFERENCES issue_field (id) ON DELETE CASCADE,
    value TEXT NOT NULL,                -- JSON; null if options are chosen
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (issue_id, field_id)
);

CREATE INDEX issue_field_value_field ON issue_field_value (field_id);

CREATE TABLE issue_field_choice (
    value_id BIGINT NOT NULL REFERENCES issue_field_value (id) ON DELETE CASCADE,
    option_id BIGINT NOT NULL REFERENCES issue_field_option (id) ON DELETE CASCADE,
    PRIMARY KEY (value_id, option_id)
);

CREATE INDEX issue_field_choice_option ON issue_field_choice (option_id);

-- Checks of commits by apps.

-- Platforms' apps, from events about their checks. Each repository has its own description of an app,
-- because an event changes no other repository.
CREATE TABLE foreign_app (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,             -- the platform's id
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    owner_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    description TEXT,
    external_url TEXT,
    html_url TEXT,
    permissions TEXT NOT NULL,          -- JSON object, name to level
    events TEXT NOT NULL,               -- JSON array
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (repo_id, number, slug)
);

CREATE INDEX foreign_app_owner ON foreign_app (owner_id) WHERE owner_id IS NOT NULL;

-- All checks of one commit by one app.
CREATE TABLE check_suite (
    id {id},
    number BIGINT,                      -- the public id: the platform's, or its own id
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    head_sha TEXT NOT NULL,
    head_branch TEXT,
    before_sha TEXT,
    after_sha TEXT,
    app_id BIGINT REFERENCES app (id) ON DELETE SET NULL,       -- NULL: a platform's app, or none
    foreign_app_id BIGINT REFERENCES foreign_app (id) ON DELETE SET NULL,
    app_number BIGINT,                  -- the public id of its app
    reflected SMALLINT NOT NULL DEFAULT 0,      -- 1: it comes from a platform
    signed SMALLINT NOT NULL DEFAULT 0,         -- 1: a source has signed an event of it
    status TEXT NOT NULL,
    conclusion TEXT,
    pulls TEXT,                         -- JSON array; NULL if unknown
    head_commit TEXT,                   -- JSON object; NULL if unknown
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    reported_at BIGINT,                     -- the platform's time of the last update
    UNIQUE (repo_id, number),
    UNIQUE (repo_id, head_sha, app_id)
);

CREATE INDEX check_suite_commit ON check_suite (repo_id, head_sha, number);
-- A commit can have thousands of suites, and few of them describe it.
CREATE INDEX check_suite_described ON check_suite (repo_id, head_sha, number)
    WHERE head_commit IS NOT NULL;

CREATE INDEX check_suite_own_app ON check_suite (app_id) WHERE app_id IS NOT NULL;

CREATE INDEX check_suite_foreign_app ON check_suite (foreign_app_id, signed)
    WHERE foreign_app_id IS NOT NULL;

CREATE TABLE check_run (
    id {id},
    number BIGINT,                      -- the public id, as in a suite
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    suite_id BIGINT NOT NULL REFERENCES check_suite (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    latest SMALLINT NOT NULL DEFAULT 0, -- 1: the newest run of its name in its suite
    status TEXT NOT NULL,
    conclusion TEXT,
    asked_again SMALLINT NOT NULL DEFAULT 0,    -- 1: it was requested again and not updated since
    external_id TEXT,
    details_url TEXT,
    started_at BIGINT,
    completed_at BIGINT,
    title TEXT,
    summary TEXT,
    content TEXT,                       -- the output's text
    images TEXT NOT NULL DEFAULT '[]',  -- JSON array
    actions TEXT NOT NULL DEFAULT '[]', -- JSON array
    annotations BIGINT NOT NULL DEFAULT 0,      -- how many there are
    signed SMALLINT NOT NULL DEFAULT 0, -- 1: a source has signed an event of it
    pulls TEXT,                         -- as in a suite
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (repo_id, number)
);

CREATE INDEX check_run_suite ON check_run (suite_id, number);

CREATE INDEX check_run_latest ON check_run (suite_id, number) WHERE latest = 1;

CREATE INDEX check_run_name ON check_run (suite_id, name, number);

CREATE INDEX check_run_status ON check_run (suite_id, status, number);

-- How many runs of each kind a suite has, so that they need not be counted.
CREATE TABLE check_tally (
    suite_id BIGINT NOT NULL REFERENCES check_suite (id) ON DELETE CASCADE,
    latest SMALLINT NOT NULL,
    status TEXT NOT NULL,
    conclusion TEXT NOT NULL,           -- empty if there is none
    asked_again SMALLINT NOT NULL,
    runs BIGINT NOT NULL,
    PRIMARY KEY (suite_id, latest, status, conclusion, asked_again)
);

CREATE TABLE check_annotation (
    id {id},
    run_id BIGINT NOT NULL REFERENCES check_run (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    start_line BIGINT NOT NULL,
    end_line BIGINT NOT NULL,
    start_column BIGINT,
    end_column BIGINT,
    level TEXT NOT NULL,                -- notice, warning or failure
    message TEXT NOT NULL,
    title TEXT,
    raw_details TEXT
);

CREATE INDEX check_annotation_run ON check_annotation (run_id, id);

-- Workflows, their runs and jobs, and the concurrency groups that those wait for or hold.

CREATE TABLE workflow (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,             -- the platform's id
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    file_name TEXT NOT NULL,            -- the last part of the path
    state TEXT NOT NULL DEFAULT 'active',
    created_at BIGINT NOT NULL,
    reported_at BIGINT,                 -- the platform's time of the last update
    UNIQUE (repo_id, number)
);

CREATE INDEX workflow_file ON workflow (repo_id, file_name, number);

CREATE TABLE workflow_run (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,             -- the platform's id
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    attempt BIGINT NOT NULL DEFAULT 1,
    signed SMALLINT NOT NULL DEFAULT 0,         -- 1: a source has signed an event of it
    groups_named BIGINT NOT NULL DEFAULT 0,     -- number of concurrency groups in its configuration
    conclusion TEXT,
    event TEXT,                         -- the event that started it
    head_branch TEXT,
    head_sha TEXT,
    suite_number BIGINT,                -- the public id of its check suite
    workflow_number BIGINT NOT NULL DEFAULT 0,  -- the public id of its workflow; 0: not reported
    actor_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    details TEXT NOT NULL DEFAULT '{{}}', -- JSON object: the other members that the API shows
    created_at BIGINT NOT NULL,
    reported_at BIGINT,                     -- the platform's time of the last update
    UNIQUE (repo_id, number)
);

CREATE INDEX workflow_run_created ON workflow_run (repo_id, created_at, id);

CREATE INDEX workflow_run_workflow ON workflow_run (repo_id, workflow_number, created_at, id);

-- Also lists a user's runs in a repository.
CREATE INDEX workflow_run_actor ON workflow_run (actor_id, repo_id, created_at, id)
    WHERE actor_id IS NOT NULL;

-- How many runs the workflows of a repository have, so that they need not be counted.
CREATE TABLE workflow_run_tally (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    workflow_number BIGINT NOT NULL,    -- as in the run
    runs BIGINT NOT NULL,
    PRIMARY KEY (repo_id, workflow_number)
);

CREATE TABLE workflow_job (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,             -- the platform's id
    run_id BIGINT NOT NULL REFERENCES workflow_run (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    path TEXT NOT NULL,                 -- its name after the names of the jobs that call its workflow
    status TEXT NOT NULL,
    attempt BIGINT NOT NULL DEFAULT 1,  -- of its run
    signed SMALLINT NOT NULL DEFAULT 0, -- 1: a source has signed an event of it
    conclusion TEXT,
    details TEXT NOT NULL DEFAULT '{{}}', -- steps, labels, runner and times of an event, as JSON
    created_at BIGINT NOT NULL,
    UNIQUE (repo_id, number)
);

CREATE INDEX workflow_job_run ON workflow_job (run_id, attempt, number);

CREATE TABLE concurrency_group (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    name TEXT NOT NULL,                 -- as in the first event
    name_key {blob} NOT NULL,           -- lower case, in UTF-8: ordered by bytes
    members BIGINT NOT NULL DEFAULT 0,
    last_acquired_at BIGINT,
    UNIQUE (repo_id, name_key)
);

CREATE INDEX concurrency_group_active ON concurrency_group (repo_id, name_key) WHERE members > 0;

-- How many groups of a repository are active, so that they need not be counted.
CREATE TABLE concurrency_tally (
    repo_id BIGINT PRIMARY KEY REFERENCES repository (id) ON DELETE CASCADE,
    active BIGINT NOT NULL
);

-- The groups that a run's configuration names.
CREATE TABLE concurrency_use (
    run_id BIGINT NOT NULL REFERENCES workflow_run (id) ON DELETE CASCADE,
    name_key {blob} NOT NULL,           -- as in the group: a run's groups are listed in this order
    group_id BIGINT NOT NULL REFERENCES concurrency_group (id) ON DELETE CASCADE,
    PRIMARY KEY (run_id, name_key)
);

CREATE INDEX concurrency_use_group ON concurrency_use (group_id);

-- The members that hold a group or wait for it.
CREATE TABLE concurrency_member (
    id {id},
    group_id BIGINT NOT NULL REFERENCES concurrency_group (id) ON DELETE CASCADE,
    run_id BIGINT NOT NULL REFERENCES workflow_run (id) ON DELETE CASCADE,
    seat TEXT NOT NULL,                 -- the run, a job, or a called workflow
    job_id BIGINT REFERENCES workflow_job (id) ON DELETE CASCADE,       -- for a job
    path TEXT,                          -- for a called workflow: the path of the job that calls it
    waiting SMALLINT NOT NULL,          -- 0: holds the group
    since BIGINT NOT NULL,
    UNIQUE (run_id, seat)
);

CREATE INDEX concurrency_member_queue ON concurrency_member (group_id, waiting, since, id);

CREATE INDEX concurrency_member_job ON concurrency_member (job_id) WHERE job_id IS NOT NULL;

-- What others say about a commit, one row for each statement: builds, reviews, scans.
CREATE TABLE commit_status (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT,                      -- the public id: the platform's, or its own id
    sha TEXT NOT NULL,                  -- the full SHA, lower case
    context TEXT NOT NULL,
    context_key TEXT NOT NULL,          -- lower case
    state TEXT NOT NULL,                -- error, failure, pending or success
    description TEXT,
    target_url TEXT,
    creator_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (repo_id, number)
);

CREATE INDEX commit_status_commit ON commit_status (repo_id, sha, created_at, id);

CREATE INDEX commit_status_context ON commit_status (repo_id, sha, context_key, created_at, id);

CREATE INDEX commit_status_creator ON commit_status (creator_id) WHERE creator_id IS NOT NULL;

-- The results of a repository's or organization's rules at a push.
CREATE TABLE rule_suite (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,             -- the platform's id
    owner_id BIGINT NOT NULL REFERENCES account (id),   -- of the repository, which keeps its owner
    actor_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    before_sha TEXT NOT NULL,
    after_sha TEXT NOT NULL,
    ref TEXT NOT NULL,                  -- the full name: refs/heads/main
    ref_name TEXT NOT NULL,             -- without refs/heads/ or refs/tags/
    pushed_at BIGINT NOT NULL,
    result TEXT NOT NULL,               -- pass, fail or bypass
    evaluation_result TEXT,             -- the result of rules on trial
    active SMALLINT NOT NULL,           -- 1: some of the rules are in force
    evaluated SMALLINT NOT NULL,        -- 1: some of the rules are on trial
    evaluations TEXT NOT NULL,          -- JSON array, as in the API
    UNIQUE (repo_id, number)
);

CREATE INDEX rule_suite_pushed ON rule_suite (repo_id, pushed_at, id);

CREATE INDEX rule_suite_ref ON rule_suite (repo_id, ref_name, pushed_at, id);

CREATE INDEX rule_suite_owner ON rule_suite (owner_id, pushed_at, id);

CREATE INDEX rule_suite_owner_number ON rule_suite (owner_id, number);

CREATE INDEX rule_suite_actor ON rule_suite (actor_id, pushed_at, id) WHERE actor_id IS NOT NULL;

-- Variables of an organization for the agents in its repositories.
CREATE TABLE agent_variable (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    name TEXT NOT NULL,                 -- upper case
    value TEXT NOT NULL,
    visibility TEXT NOT NULL,           -- all, private or selected
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (organization_id, name)
);

-- The repositories that are selected for a variable.
CREATE TABLE agent_variable_repository (
    variable_id BIGINT NOT NULL REFERENCES agent_variable (id) ON DELETE CASCADE,
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    PRIMARY KEY (variable_id, repo_id)
);

CREATE INDEX agent_variable_repository_repo ON agent_variable_repository (repo_id);

-- The key pair of a repository, with which clients encrypt its secrets.
CREATE TABLE devenv_key (
    repo_id BIGINT PRIMARY KEY REFERENCES repository (id) ON DELETE CASCADE,
    key_id TEXT NOT NULL,               -- the public id
    public_key TEXT NOT NULL,           -- base64
    private_key {blob} NOT NULL,        -- base64, encrypted
    created_at BIGINT NOT NULL
);

-- Secrets of a repository for its development environments.
CREATE TABLE devenv_secret (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    name TEXT NOT NULL,                 -- upper case
    value {blob} NOT NULL,              -- base64, encrypted
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (repo_id, name)
);

-- Machine types of environments that differ from the built-in ones.
CREATE TABLE devenv_machine (
    name TEXT PRIMARY KEY,
    display_name TEXT NOT NULL,
    operating_system TEXT NOT NULL,
    storage_in_bytes BIGINT NOT NULL,
    memory_in_bytes BIGINT NOT NULL,
    cpus BIGINT NOT NULL,
    locations TEXT,                     -- JSON array of names; NULL: everywhere
    offered SMALLINT NOT NULL
);

-- Locations of environments that differ from the built-in ones.
CREATE TABLE devenv_location (
    name TEXT PRIMARY KEY,
    networks TEXT NOT NULL,             -- JSON array: clients in these networks are sent here
    is_default SMALLINT NOT NULL        -- 1: all other clients are sent here
);

-- Development environments.
CREATE TABLE devenv (
    id {id},
    name TEXT NOT NULL UNIQUE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    ref TEXT NOT NULL,                  -- a branch or a commit
    machine TEXT NOT NULL,
    location TEXT NOT NULL
);

CREATE INDEX devenv_account ON devenv (account_id);

CREATE INDEX devenv_repository ON devenv (repo_id);

-- Prebuilds of a repository for environments.
CREATE TABLE devenv_prebuild (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    ref TEXT NOT NULL,                  -- a branch or a commit
    machine TEXT NOT NULL,
    availability TEXT NOT NULL,         -- none, in_progress or ready
    PRIMARY KEY (repo_id, ref, machine)
);

-- A repository's requirements for machines.
CREATE TABLE devenv_restriction (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    ref TEXT NOT NULL,                  -- a branch or a commit; empty: all
    cpus BIGINT NOT NULL,
    memory_in_bytes BIGINT NOT NULL,
    storage_in_bytes BIGINT NOT NULL,
    machines TEXT,                      -- JSON array of names; NULL: any
    PRIMARY KEY (repo_id, ref)
);

-- The version of an organization's settings for patterns.
CREATE TABLE secret_pattern_configuration (
    organization_id BIGINT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    version TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Patterns of secrets: an organization's own, and its settings for the providers' patterns.
CREATE TABLE secret_pattern (
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    token_type TEXT NOT NULL,
    custom SMALLINT NOT NULL,
    slug TEXT NOT NULL,
    display_name TEXT NOT NULL,
    default_setting TEXT NOT NULL,      -- disabled or enabled
    setting TEXT NOT NULL,              -- disabled, enabled or not-set
    version TEXT,                       -- for a custom pattern
    alerts BIGINT NOT NULL DEFAULT 0,
    false_positives BIGINT NOT NULL DEFAULT 0,
    blocks BIGINT NOT NULL DEFAULT 0,
    bypasses BIGINT NOT NULL DEFAULT 0, -- how many of the blocks were bypassed
    PRIMARY KEY (organization_id, token_type)
);

-- Secret scanning alerts, so that each is counted once.
CREATE TABLE secret_alert (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    token_type TEXT NOT NULL,
    false_positive SMALLINT NOT NULL,
    bypassed SMALLINT NOT NULL,
    reported_at BIGINT,                     -- the platform's time of the last update
    PRIMARY KEY (repo_id, number)
);

-- Attestations that a repository has built an artifact.
CREATE TABLE attestation (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (repo_id, digest)
);

CREATE INDEX attestation_digest ON attestation (digest, id);

-- Artifacts, one for each repository and digest.
CREATE TABLE artifact (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,               -- sha256: and hexadecimal digits, lower case
    name TEXT NOT NULL,
    version TEXT,
    deployments BIGINT NOT NULL DEFAULT 0,      -- the numbers of records of each kind
    storages BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (repo_id, digest)
);

CREATE INDEX artifact_digest ON artifact (organization_id, digest);

-- Where artifacts run or ran. Unknown parts are empty texts, because they belong to the key.
CREATE TABLE deployment_record (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    artifact_id BIGINT NOT NULL REFERENCES artifact (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,               -- the artifact's, for finding
    cluster TEXT NOT NULL,
    logical_environment TEXT NOT NULL,
    physical_environment TEXT NOT NULL,
    deployment_name TEXT NOT NULL,
    status TEXT NOT NULL,               -- deployed or decommissioned
    tags TEXT,                          -- JSON object of texts
    runtime_risks TEXT,                 -- JSON array
    attestation_id BIGINT REFERENCES attestation (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (organization_id, cluster, logical_environment, physical_environment, deployment_name)
);

CREATE INDEX deployment_record_digest ON deployment_record (organization_id, digest, id);

CREATE INDEX deployment_record_artifact ON deployment_record (artifact_id);

CREATE INDEX deployment_record_attestation ON deployment_record (attestation_id)
    WHERE attestation_id IS NOT NULL;

-- Where artifacts are stored. Unknown parts are empty texts, because they belong to the place.
CREATE TABLE storage_record (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    artifact_id BIGINT NOT NULL REFERENCES artifact (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,               -- the artifact's, for finding
    registry_url TEXT NOT NULL,
    repository TEXT NOT NULL,           -- in the registry
    path TEXT NOT NULL,
    place TEXT NOT NULL,                -- SHA-256 of the three, for finding
    artifact_url TEXT,
    status TEXT NOT NULL,               -- active, eol or deleted
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (artifact_id, place)
);

CREATE INDEX storage_record_digest ON storage_record (organization_id, digest, id);

-- Jobs that record a cluster's deployments.
CREATE TABLE deployment_job (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    account_id BIGINT REFERENCES account (id) ON DELETE SET NULL,   -- the account that requested it
    cluster TEXT NOT NULL,
    logical_environment TEXT NOT NULL,
    physical_environment TEXT NOT NULL,
    status TEXT NOT NULL,               -- pending, processing, completed or failed
    total_count BIGINT NOT NULL,        -- how many records were written
    errors TEXT NOT NULL,               -- JSON array
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT
);

CREATE UNIQUE INDEX deployment_job_cluster ON deployment_job (organization_id, cluster)
    WHERE ended_at IS NULL;

CREATE INDEX deployment_job_waiting ON deployment_job (created_at, id) WHERE ended_at IS NULL;

CREATE INDEX deployment_job_ended ON deployment_job (ended_at) WHERE ended_at IS NOT NULL;

CREATE INDEX deployment_job_organization ON deployment_job (organization_id);

CREATE INDEX deployment_job_account ON deployment_job (account_id) WHERE account_id IS NOT NULL;

-- The deployments that are still to be recorded.
CREATE TABLE deployment_job_entry (
    job_id BIGINT NOT NULL REFERENCES deployment_job (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    content TEXT NOT NULL,              -- JSON object
    PRIMARY KEY (job_id, position)
);

-- Interaction limits. An expired one counts as deleted. The worker deletes it
-- and writes the event about its end.
CREATE TABLE interaction_limit (
    id {id},
    account_id BIGINT REFERENCES account (id) ON DELETE CASCADE,    -- for all repositories of this account
    repo_id BIGINT REFERENCES repository (id) ON DELETE CASCADE,    -- or for this repository
    allowed TEXT NOT NULL,              -- existing_users, contributors_only or collaborators_only
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL          -- a whole second
);

CREATE INDEX interaction_limit_account ON interaction_limit (account_id)
    WHERE account_id IS NOT NULL;

CREATE INDEX interaction_limit_repository ON interaction_limit (repo_id) WHERE repo_id IS NOT NULL;

CREATE INDEX interaction_limit_expiry ON interaction_limit (expires_at, id);

-- Caps on the open pull requests of one user.
CREATE TABLE organization_cap (
    account_id BIGINT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    enabled SMALLINT NOT NULL,
    most INTEGER NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE repository_cap (
    repo_id BIGINT PRIMARY KEY REFERENCES repository (id) ON DELETE CASCADE,
    enabled SMALLINT NOT NULL,
    most INTEGER NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Accounts that are exempt from the cap.
CREATE TABLE cap_bypass (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (repo_id, account_id)
);

CREATE INDEX cap_bypass_account ON cap_bypass (account_id);

-- Open invitations to collaborate. Answered, withdrawn and expired ones are deleted.
CREATE TABLE repository_invitation (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    invitee_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    inviter_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    role TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL          -- a whole second
);

CREATE INDEX repository_invitation_repository ON repository_invitation (repo_id, id);

CREATE INDEX repository_invitation_invitee ON repository_invitation (invitee_id, id);

CREATE INDEX repository_invitation_expiry ON repository_invitation (expires_at, id);

CREATE INDEX repository_invitation_inviter ON repository_invitation (inviter_id)
    WHERE inviter_id IS NOT NULL;

-- Recent invitations of a repository, including ended ones, for its limit.
CREATE TABLE invitation_sent (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    sent_at BIGINT NOT NULL
);

CREATE INDEX invitation_sent_repository ON invitation_sent (repo_id, sent_at);

CREATE TABLE job (
    name TEXT PRIMARY KEY,
    schedule TEXT NOT NULL,             -- in words, from the worker that scheduled it
    due_at BIGINT,                      -- NULL: never
    served_at BIGINT,                   -- the start of the last run that was not before its time
    asked_at BIGINT,                    -- when a run was requested, or NULL
    held_until BIGINT NOT NULL DEFAULT 0,
    holder TEXT,                        -- the worker that has claimed it
    started_at BIGINT,
    ended_at BIGINT,
    outcome TEXT,                       -- done, failed, stopped
    error TEXT,
    failures INTEGER NOT NULL DEFAULT 0,        -- number of failures in a row
    rests_until BIGINT NOT NULL DEFAULT 0,      -- when it is retried after a failure
    discounted_at BIGINT NOT NULL DEFAULT 0     -- the end of the last outage that was discounted
);

-- Enterprises, their members, organizations and teams.

CREATE TABLE enterprise (
    id {id},
    slug TEXT NOT NULL UNIQUE,          -- lower case
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- Whether usage of the coding assistant may be collected and shown:
    -- enabled, disabled or unconfigured (others decide).
    usage_metrics TEXT NOT NULL DEFAULT 'unconfigured'
);

CREATE TABLE enterprise_member (
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    role TEXT NOT NULL,                 -- owner, billing_manager or member
    PRIMARY KEY (enterprise_id, account_id)
);

CREATE INDEX enterprise_member_account ON enterprise_member (account_id);

CREATE TABLE enterprise_organization (
    organization_id BIGINT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE
);

CREATE INDEX enterprise_organization_enterprise
    ON enterprise_organization (enterprise_id, organization_id);

-- The ids of all teams: an organization's list has its own ones and the enterprise's.
CREATE TABLE team_id (
    id {id}
);

CREATE TABLE enterprise_team (
    id BIGINT NOT NULL PRIMARY KEY REFERENCES team_id (id),
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,                 -- ent: and the name in lower case
    name TEXT NOT NULL,
    description TEXT,
    selection TEXT NOT NULL,            -- assigned organizations: disabled, selected or all
    group_id TEXT,
    notification_setting TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    members BIGINT NOT NULL DEFAULT 0,  -- how many it has, so that they need not be counted
    UNIQUE (enterprise_id, slug)
);

CREATE INDEX enterprise_team_enterprise ON enterprise_team (enterprise_id, id);

CREATE TABLE enterprise_team_organization (
    team_id BIGINT NOT NULL REFERENCES enterprise_team (id) ON DELETE CASCADE,
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    PRIMARY KEY (team_id, organization_id)
);

CREATE INDEX enterprise_team_organization_owner
    ON enterprise_team_organization (organization_id);

CREATE TABLE enterprise_team_member (
    team_id BIGINT NOT NULL REFERENCES enterprise_team (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (team_id, account_id)
);

CREATE INDEX enterprise_team_member_account ON enterprise_team_member (account_id);

-- Teams of organizations, and seats for the coding assistant.

CREATE TABLE team (
    id BIGINT NOT NULL PRIMARY KEY REFERENCES team_id (id),
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    privacy TEXT NOT NULL,              -- secret or closed
    permission TEXT NOT NULL,
    notification_setting TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    members BIGINT NOT NULL DEFAULT 0,  -- how many it has, so that they need not be counted
    UNIQUE (organization_id, slug)
);

CREATE INDEX team_privacy ON team (organization_id, privacy);

-- How many teams an organization has, so that they need not be counted.
CREATE TABLE team_tally (
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    privacy TEXT NOT NULL,              -- as in the team
    teams BIGINT NOT NULL,
    PRIMARY KEY (organization_id, privacy)
);

CREATE TABLE team_member (
    team_id BIGINT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    PRIMARY KEY (team_id, account_id)
);

CREATE INDEX team_member_account ON team_member (account_id);

-- The roles of teams in their organization's repositories.
CREATE TABLE team_repository (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    team_id BIGINT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
    role TEXT NOT NULL,                 -- read, triage, write, maintain or admin
    PRIMARY KEY (repo_id, team_id)
);

CREATE INDEX team_repository_team ON team_repository (team_id);

-- How many teams have access to a repository, so that they need not be counted.
CREATE TABLE team_repository_tally (
    repo_id BIGINT PRIMARY KEY REFERENCES repository (id) ON DELETE CASCADE,
    teams BIGINT NOT NULL
);

-- Subscriptions to the assistant, and their options.
CREATE TABLE assistant_subscription (
    organization_id BIGINT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    plan TEXT NOT NULL,                 -- business or enterprise
    payable SMALLINT NOT NULL,          -- whether billing is set up
    seat_management TEXT NOT NULL,      -- assign_all, assign_selected, disabled or unconfigured
    public_code TEXT NOT NULL,          -- allow, block or unconfigured
    ide_chat TEXT NOT NULL,             -- enabled, disabled or unconfigured, like the next two
    platform_chat TEXT NOT NULL,
    cli TEXT NOT NULL
);

-- Teams whose members have seats.
CREATE TABLE assistant_team (
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    team_id BIGINT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
    PRIMARY KEY (organization_id, team_id)
);

CREATE INDEX assistant_team_team ON assistant_team (team_id);

CREATE TABLE assistant_seat (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    team_id BIGINT REFERENCES team (id) ON DELETE SET NULL,     -- the team through which it was assigned
    personal SMALLINT NOT NULL,         -- 1: assigned to the user, and not only through a team
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    expires_at BIGINT,                  -- when it ends, if it is cancelled
    active_at BIGINT,
    editor TEXT,
    authenticated_at BIGINT,
    UNIQUE (organization_id, account_id)
);

CREATE INDEX assistant_seat_page ON assistant_seat (organization_id, id);

CREATE INDEX assistant_seat_expiry ON assistant_seat (expires_at, id) WHERE expires_at IS NOT NULL;

CREATE INDEX assistant_seat_account ON assistant_seat (account_id);

CREATE INDEX assistant_seat_team ON assistant_seat (team_id) WHERE team_id IS NOT NULL;

-- How many seats end at each time. A list of seats has their number, which takes long to count.
CREATE TABLE assistant_seat_tally (
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    ends_at BIGINT NOT NULL,            -- 0: they do not end
    seats BIGINT NOT NULL,
    PRIMARY KEY (organization_id, ends_at)
);

-- An enterprise's settings for the providers' patterns, for all its organizations.
CREATE TABLE enterprise_secret_pattern (
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE,
    token_type TEXT NOT NULL,
    setting TEXT NOT NULL,              -- not-set, disabled or enabled
    PRIMARY KEY (enterprise_id, token_type)
);

-- Written to find out whether writing is possible.
CREATE TABLE probe (
    id INTEGER PRIMARY KEY,
    tried_at BIGINT NOT NULL
);

-- The audit log. Rows are only added, with consecutive numbers. Each has a digest of itself and of
-- the row before, made with the key in audit_chain.
CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,                -- a login, an app's client id, user@host
    via TEXT NOT NULL,                  -- token, password, app, link, command or daemon
    account_id BIGINT,
    token_id BIGINT,
    address TEXT,                       -- the address of a request
    action TEXT NOT NULL,               -- an operation, or a command
    target TEXT NOT NULL,               -- a path, or the command's arguments
    outcome TEXT NOT NULL,              -- a status code or another result
    request_id TEXT,
    details TEXT NOT NULL,              -- JSON object: names of changed fields, ids; never values
    through BIGINT,                     -- rows up to this earlier one may be deleted
    digest {blob} NOT NULL
);

CREATE INDEX audit_actor ON audit (actor, id);

CREATE INDEX audit_action ON audit (action, id);

CREATE INDEX audit_actor_action ON audit (actor, action, id);

CREATE INDEX audit_at ON audit (at);

CREATE INDEX audit_through ON audit (through) WHERE through < id;

CREATE TABLE audit_chain (
    id SMALLINT PRIMARY KEY,            -- always 1
    secret {blob} NOT NULL              -- encrypted
);

{audit_guard};

{audit_insert};

{audit_update};

{audit_delete};

{audit_truncate};

-- Imports of a repository's history from another host. Each repository has only its latest one.
CREATE TABLE source_import (
    repo_id BIGINT PRIMARY KEY REFERENCES repository (id) ON DELETE CASCADE,
    round BIGINT NOT NULL,              -- a new number for each start
    account_id BIGINT REFERENCES account (id) ON DELETE SET NULL,   -- the account that requested it
    vcs_url TEXT NOT NULL,
    vcs TEXT,                           -- git, mercurial, subversion or tfvc; NULL until detected
    project TEXT,                       -- one of the projects at the URL
    username TEXT,
    password {blob},                    -- encrypted
    status TEXT NOT NULL,
    step TEXT NOT NULL,                 -- the worker's first step: detecting, importing or mapping
    due_at BIGINT,                      -- since when it has been due; NULL: it is not due
    tries BIGINT NOT NULL,              -- its rounds without an end, with the current one
    failed_step TEXT,
    error_message TEXT,
    commit_count BIGINT,
    authors_count BIGINT,
    import_percent BIGINT,
    push_percent BIGINT,
    use_lfs TEXT NOT NULL,              -- undecided, opt_in, opt_out
    large_files_count BIGINT NOT NULL,
    large_files_size BIGINT NOT NULL,   -- total size in bytes
    project_choices TEXT NOT NULL,      -- JSON array
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX source_import_due ON source_import (due_at, repo_id) WHERE due_at IS NOT NULL;

CREATE INDEX source_import_account ON source_import (account_id) WHERE account_id IS NOT NULL;

-- The authors of its commits and tags, and their new names.
CREATE TABLE import_author (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES source_import (repo_id) ON DELETE CASCADE,
    digest TEXT NOT NULL,               -- of name and address, as in the source
    remote_name TEXT NOT NULL,
    remote_id TEXT NOT NULL,
    name TEXT NOT NULL,
    email TEXT NOT NULL
);

CREATE UNIQUE INDEX import_author_digest ON import_author (repo_id, digest);

CREATE INDEX import_author_listed ON import_author (repo_id, id);

-- Files larger than the platform accepts.
CREATE TABLE import_large_file (
    repo_id BIGINT NOT NULL REFERENCES source_import (repo_id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    ref_name TEXT NOT NULL,
    path TEXT NOT NULL,
    oid TEXT NOT NULL,
    size BIGINT NOT NULL,
    PRIMARY KEY (repo_id, position)
);

CREATE TABLE usage_day (
    id {id},
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE,
    day INTEGER NOT NULL,               -- days since 1970-01-01
    version BIGINT NOT NULL,            -- increases with every change
    made_version BIGINT NOT NULL,       -- the version in its reports; 0: no reports
    UNIQUE (enterprise_id, day)
);

CREATE INDEX usage_day_changed ON usage_day (day, enterprise_id) WHERE made_version < version;

-- Names of editors, languages and models: few names, which are longer than their ids.
CREATE TABLE usage_name (
    id {id},
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,                 -- editor, language or model
    name TEXT NOT NULL,
    last_day INTEGER NOT NULL,          -- the latest day of usage with it
    UNIQUE (enterprise_id, kind, name)
);

-- A row for each combination; 0: unknown. The accounts and repositories may have been deleted.
CREATE TABLE usage (
    id {id},
    day_id BIGINT NOT NULL REFERENCES usage_day (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL,
    organization_id BIGINT NOT NULL,
    repo_id BIGINT NOT NULL,
    team_id BIGINT NOT NULL,
    editor_id BIGINT NOT NULL,
    language_id BIGINT NOT NULL,
    model_id BIGINT NOT NULL,
    suggestions INTEGER NOT NULL,
    acceptances INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    chats INTEGER NOT NULL,
    active SMALLINT NOT NULL,
    engaged SMALLINT NOT NULL,
    UNIQUE (day_id, user_id, organization_id, repo_id, team_id, editor_id, language_id, model_id)
);

CREATE INDEX usage_repository ON usage (day_id, repo_id) WHERE repo_id > 0;

-- Reports of usage. Their lines are stored compressed, so that any machine can
-- create the file that it serves.
CREATE TABLE report (
    id {id},
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,                 -- as in its path: enterprise-1-day, users-28-day, ...
    first_day INTEGER NOT NULL,         -- days since 1970-01-01
    last_day INTEGER NOT NULL,
    version BIGINT NOT NULL,            -- the version of its days
    created_at BIGINT NOT NULL,
    made_at BIGINT,                     -- when it was finished
    replaced_at BIGINT,                 -- when another report replaced it
    lines BIGINT NOT NULL DEFAULT 0,
    size BIGINT NOT NULL DEFAULT 0,     -- in bytes, of the file
    digest TEXT NOT NULL DEFAULT ''     -- SHA-256 of the file
);

CREATE INDEX report_kind ON report (enterprise_id, kind, last_day, id);

CREATE INDEX report_unmade ON report (id) WHERE made_at IS NULL;

CREATE INDEX report_replaced ON report (replaced_at) WHERE replaced_at IS NOT NULL;

CREATE INDEX report_old ON report (last_day);

CREATE TABLE report_part (
    report_id BIGINT NOT NULL REFERENCES report (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,            -- from 0
    content {blob} NOT NULL,
    PRIMARY KEY (report_id, number)
);

-- Runs that publish snapshots of the state, and their progress.
CREATE TABLE republishing (
    id {id},
    topic TEXT NOT NULL,                -- as requested: owner/repo/events/event
    owner TEXT NOT NULL,                -- lower case; * stands for any, also in the next column
    repo TEXT NOT NULL,
    event TEXT NOT NULL,
    since BIGINT,                       -- only what has changed since; NULL: everything
    rate BIGINT NOT NULL,               -- events a second at most
    scheduled SMALLINT NOT NULL,        -- 1: by the settings; 0: by a command
    total BIGINT NOT NULL,              -- how many objects there were when it was requested
    published BIGINT NOT NULL DEFAULT 0,
    resource TEXT,                      -- the progress: the kind of object,
    repo_id BIGINT NOT NULL DEFAULT 0,  -- the repository,
    place TEXT,                         -- and the key of the last object (JSON); NULL: none yet
    moves BIGINT NOT NULL DEFAULT 0,    -- counts the steps, so that no two workers do the same one
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    moved_at BIGINT,
    ended_at BIGINT,
    outcome TEXT                        -- done or stopped
);

CREATE INDEX republishing_open ON republishing (id) WHERE ended_at IS NULL;

CREATE INDEX republishing_ended ON republishing (ended_at) WHERE ended_at IS NOT NULL;

-- Data of the dashboard.

-- Links that show one hook to the developer of its receiver.
CREATE TABLE hook_link (
    id {id},
    hook_id BIGINT NOT NULL REFERENCES hook (id) ON DELETE CASCADE,
    hash TEXT NOT NULL UNIQUE,          -- SHA-256 of the link's secret value, which is not stored
    note TEXT NOT NULL,
    made_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX hook_link_hook ON hook_link (hook_id, id);

CREATE INDEX hook_link_expires ON hook_link (expires_at);

-- Sessions of the dashboard, each with its credential: a token, the administrators' token or a link.
CREATE TABLE ui_session (
    id TEXT PRIMARY KEY,                -- SHA-256 of the cookie's value, which is not stored
    token_id BIGINT REFERENCES token (id) ON DELETE CASCADE,
    token_hash TEXT,                    -- the token's hash at sign-in; a reset ends the session
    operator TEXT,                      -- a digest of the administrators' token, which is not stored
    link_id BIGINT REFERENCES hook_link (id) ON DELETE CASCADE,
    method TEXT NOT NULL,               -- how it began: token, openid, administrator, link
    address TEXT,                       -- from where
    browser TEXT,                       -- the User-Agent
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX ui_session_expires ON ui_session (expires_at);

CREATE INDEX ui_session_token ON ui_session (token_id) WHERE token_id IS NOT NULL;

CREATE INDEX ui_session_link ON ui_session (link_id) WHERE link_id IS NOT NULL;

-- Saved views: filters of a list under a name.
CREATE TABLE saved_view (
    id {id},
    account_id BIGINT REFERENCES account (id) ON DELETE CASCADE, -- NULL: the administrators' token
    name TEXT NOT NULL,
    page TEXT NOT NULL,                 -- the path of the list
    query TEXT NOT NULL,
    shared SMALLINT NOT NULL,           -- whether everybody who signs in sees it
    created_at BIGINT NOT NULL
);

CREATE INDEX saved_view_account ON saved_view (account_id, page, name);

CREATE INDEX saved_view_shared ON saved_view (page, name) WHERE shared = 1;

-- Counters for each minute (since 1970), in a repository and (repo_id 0) everywhere. Each process
-- has its own rows, so that none waits for another.
CREATE TABLE tally (
    minute BIGINT NOT NULL,
    repo_id BIGINT NOT NULL,            -- negative: the organization with this id, for its own hooks
    shard SMALLINT NOT NULL,
    events BIGINT NOT NULL DEFAULT 0,
    delivered BIGINT NOT NULL DEFAULT 0,    -- successful attempts
    failed BIGINT NOT NULL DEFAULT 0,       -- failed attempts
    dead BIGINT NOT NULL DEFAULT 0,         -- deliveries that failed for good
    filtered BIGINT NOT NULL DEFAULT 0,     -- deliveries that hooks' filters left out
    -- Successful first attempts by latency: store.monitoring.minute_counters.BOUNDS.
    b0 BIGINT NOT NULL DEFAULT 0,
    b1 BIGINT NOT NULL DEFAULT 0,
    b2 BIGINT NOT NULL DEFAULT 0,
    b3 BIGINT NOT NULL DEFAULT 0,
    b4 BIGINT NOT NULL DEFAULT 0,
    b5 BIGINT NOT NULL DEFAULT 0,
    b6 BIGINT NOT NULL DEFAULT 0,
    b7 BIGINT NOT NULL DEFAULT 0,
    b8 BIGINT NOT NULL DEFAULT 0,
    b9 BIGINT NOT NULL DEFAULT 0,
    b10 BIGINT NOT NULL DEFAULT 0,
    b11 BIGINT NOT NULL DEFAULT 0,
    b12 BIGINT NOT NULL DEFAULT 0,
    b13 BIGINT NOT NULL DEFAULT 0,
    b14 BIGINT NOT NULL DEFAULT 0,
    b15 BIGINT NOT NULL DEFAULT 0,
    b16 BIGINT NOT NULL DEFAULT 0,
    b17 BIGINT NOT NULL DEFAULT 0,
    b18 BIGINT NOT NULL DEFAULT 0,
    b19 BIGINT NOT NULL DEFAULT 0,
    b20 BIGINT NOT NULL DEFAULT 0,
    b21 BIGINT NOT NULL DEFAULT 0,
    b22 BIGINT NOT NULL DEFAULT 0,
    b23 BIGINT NOT NULL DEFAULT 0,
    b24 BIGINT NOT NULL DEFAULT 0,
    b25 BIGINT NOT NULL DEFAULT 0,
    b26 BIGINT NOT NULL DEFAULT 0,
    b27 BIGINT NOT NULL DEFAULT 0,
    b28 BIGINT NOT NULL DEFAULT 0,
    b29 BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (minute, repo_id, shard)
);

CREATE INDEX tally_repository ON tally (repo_id, minute);

-- Counters of each hook's attempts, by status code and duration. A slot begins with its minute; old
-- slots are merged into whole hours.
CREATE TABLE hook_tally (
    minute BIGINT NOT NULL,
    hook_id BIGINT NOT NULL,
    code SMALLINT NOT NULL,             -- 0: no answer
    shard SMALLINT NOT NULL,
    -- Attempts by duration: store.monitoring.hook_tallies.BOUNDS.
    l0 BIGINT NOT NULL DEFAULT 0,
    l1 BIGINT NOT NULL DEFAULT 0,
    l2 BIGINT NOT NULL DEFAULT 0,
    l3 BIGINT NOT NULL DEFAULT 0,
    l4 BIGINT NOT NULL DEFAULT 0,
    l5 BIGINT NOT NULL DEFAULT 0,
    l6 BIGINT NOT NULL DEFAULT 0,
    l7 BIGINT NOT NULL DEFAULT 0,
    l8 BIGINT NOT NULL DEFAULT 0,
    l9 BIGINT NOT NULL DEFAULT 0,
    l10 BIGINT NOT NULL DEFAULT 0,
    l11 BIGINT NOT NULL DEFAULT 0,
    l12 BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (minute, hook_id, code, shard)
);

CREATE INDEX hook_tally_hook ON hook_tally (hook_id, minute);

CREATE INDEX hook_tally_fine ON hook_tally (minute) WHERE minute / 60 * 60 <> minute;

-- Problems that somebody acknowledged or muted: a hook fails with a kind of outcome, or something
-- else is wrong with it.
CREATE TABLE problem_note (
    hook_id BIGINT NOT NULL,            -- 0: the whole installation
    kind TEXT NOT NULL,                 -- a status code, the stage of an error, or an alert's kind
    acknowledged_by TEXT,               -- a login
    acknowledged_at BIGINT,
    muted_until BIGINT,
    PRIMARY KEY (hook_id, kind)
);

-- Hooks that begin no alert until a time, and whose problems are muted.
CREATE TABLE hook_silence (
    hook_id BIGINT PRIMARY KEY,
    ends_at BIGINT NOT NULL,
    silenced_by TEXT NOT NULL           -- a login
);

-- Alerts: records that something went wrong, which are open until it is over.
CREATE TABLE alert (
    id {id},
    kind TEXT NOT NULL,                 -- an operational event, such as hook.failing
    hook_id BIGINT NOT NULL,            -- 0: the whole installation
    subject TEXT NOT NULL,              -- within the hook, such as an ordering key
    data TEXT NOT NULL,                 -- JSON object: what its event reports
    opened_at BIGINT NOT NULL,
    well_since BIGINT,                  -- its condition is over since then, perhaps not for good
    closed_at BIGINT                    -- NULL: it is open
);

CREATE UNIQUE INDEX alert_open ON alert (kind, hook_id, subject) WHERE closed_at IS NULL;

CREATE INDEX alert_closed ON alert (closed_at, id) WHERE closed_at IS NOT NULL;

-- Mails, which are kept for a time after they were sent or failed.
CREATE TABLE mail (
    id {id},
    kind TEXT NOT NULL,                 -- alerts: about the alerts of its notices; test: a test message
    account_id BIGINT REFERENCES account (id) ON DELETE CASCADE,    -- NULL: a test message
    address TEXT NOT NULL,
    guid TEXT NOT NULL,                 -- its Message-ID is the same each time it is sent
    created_at BIGINT NOT NULL,
    due_at BIGINT,                      -- when it is sent, or sent again; NULL: it has ended
    attempts BIGINT NOT NULL DEFAULT 0,
    error TEXT,                         -- of the latest attempt
    outcome TEXT,                       -- sent or failed; NULL: it waits
    ended_at BIGINT
);

CREATE INDEX mail_due ON mail (due_at, id) WHERE due_at IS NOT NULL;

CREATE INDEX mail_ended ON mail (ended_at, id) WHERE ended_at IS NOT NULL;

CREATE INDEX mail_created ON mail (created_at, id);

CREATE INDEX mail_account ON mail (account_id, created_at);

-- The alerts that an account gets a mail about.
CREATE TABLE mail_notice (
    id {id},
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    alert_id BIGINT NOT NULL REFERENCES alert (id) ON DELETE CASCADE,
    mail_id BIGINT REFERENCES mail (id) ON DELETE CASCADE,  -- NULL: it waits for others
    created_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL              -- when a mail is made of it and of the others that wait
);

CREATE INDEX mail_notice_due ON mail_notice (due_at, account_id) WHERE mail_id IS NULL;

CREATE INDEX mail_notice_account ON mail_notice (account_id, mail_id);

CREATE INDEX mail_notice_alert ON mail_notice (alert_id);

CREATE INDEX mail_notice_mail ON mail_notice (mail_id, id);

-- The hooks about which an account gets no mail. 0 stands for the whole installation.
CREATE TABLE mail_unsubscribed (
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    hook_id BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, hook_id)
);

CREATE INDEX mail_unsubscribed_hook ON mail_unsubscribed (hook_id);

-- Deliveries of each hook that died and that no alert has reported yet.
CREATE TABLE exhausted (
    hook_id BIGINT PRIMARY KEY,
    many BIGINT NOT NULL,
    first_id BIGINT NOT NULL,           -- the first delivery
    last_id BIGINT NOT NULL,            -- the latest delivery
    since BIGINT NOT NULL,
    last_at BIGINT NOT NULL
);

CREATE INDEX exhausted_since ON exhausted (since, hook_id);

CREATE INDEX ordering_key_blocked ON ordering_key (id) WHERE blocked_at IS NOT NULL;

-- Replays: runs that deliver events once more, and their progress.
CREATE TABLE replaying (
    id {id},
    since BIGINT,                       -- received at this time or later; NULL: any time
    until BIGINT,                       -- received before this time
    repo_id BIGINT,                     -- NULL: all repositories
    hook_id BIGINT,                     -- NULL: all hooks
    hook_ids TEXT,                      -- JSON array: only these hooks; NULL: as hook_id says
    event TEXT,                         -- NULL: all events
    failed SMALLINT NOT NULL,           -- 1: only events that a hook has not got and will not get
    first_id BIGINT NOT NULL,           -- it starts after this event
    last_id BIGINT NOT NULL,            -- it ends with this event
    after_id BIGINT NOT NULL,           -- it has come to this event
    total BIGINT,                       -- number of deliveries, if they were counted
    made BIGINT NOT NULL DEFAULT 0,
    moves BIGINT NOT NULL DEFAULT 0,    -- counts the steps, so that no two workers do the same one
    asked_by TEXT NOT NULL,             -- a login
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    moved_at BIGINT NOT NULL DEFAULT 0,
    ended_at BIGINT,
    outcome TEXT                        -- done, failed or cancelled
);

CREATE INDEX replaying_open ON replaying (moved_at, id) WHERE ended_at IS NULL;

CREATE INDEX replaying_ended ON replaying (ended_at) WHERE ended_at IS NOT NULL;

CREATE INDEX replaying_repository ON replaying (repo_id, id);

-- Which PostgreSQL server writes to the database (store.database.postgres.history).
CREATE TABLE server_history (
    id INTEGER PRIMARY KEY,             -- 1
    server TEXT NOT NULL
);
