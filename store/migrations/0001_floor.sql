-- Accounts and what they may do.

CREATE TABLE account (
    id {id},
    login TEXT NOT NULL,
    login_key TEXT NOT NULL UNIQUE,     -- lower case: logins are compared without case
    kind TEXT NOT NULL,                 -- User or Organization
    name TEXT,
    email TEXT,
    site_admin INTEGER NOT NULL DEFAULT 0,
    password_hash TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE membership (
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    role TEXT NOT NULL,                 -- admin or member
    PRIMARY KEY (organization_id, account_id)
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
    UNIQUE (owner_id, name_key)
);

CREATE TABLE collaborator (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    role TEXT NOT NULL,                 -- read, triage, write, maintain or admin
    PRIMARY KEY (repo_id, account_id)
);

CREATE TABLE token (
    id {id},
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,          -- SHA-256 of the value, which itself is not kept
    last_eight TEXT NOT NULL,
    note TEXT,
    scopes TEXT NOT NULL,               -- JSON array
    permissions TEXT NOT NULL,          -- JSON object, name to level
    created_at BIGINT NOT NULL,
    expires_at BIGINT
);

-- A platform that posts its events here, signed with a secret of its own.
CREATE TABLE source (
    id {id},
    name TEXT NOT NULL UNIQUE,
    secret {blob} NOT NULL,             -- sealed
    owner_id BIGINT REFERENCES account (id),    -- may speak for this account's repositories only
    created_at BIGINT NOT NULL
);

-- Who wants what. The distribution key of everything from here on is the repository.

CREATE TABLE hook (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    content_type TEXT NOT NULL,         -- json or form
    secret {blob},                      -- sealed
    insecure_ssl INTEGER NOT NULL DEFAULT 0,
    active INTEGER NOT NULL DEFAULT 1,
    events TEXT NOT NULL,               -- JSON array
    options TEXT NOT NULL,              -- JSON object: how this hook's deliveries differ
    disabled_reason TEXT,
    failing_since BIGINT,
    version BIGINT NOT NULL DEFAULT 1,  -- counts changes, so that a worker knows its copy is old
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT
);

CREATE INDEX hook_repository ON hook (repo_id, id);

-- The active hooks' events once more, in the order in which an arriving event asks for them.
CREATE TABLE subscription (
    repo_id BIGINT NOT NULL,
    event TEXT NOT NULL,                -- a name, or * for all of the platform's
    hook_id BIGINT NOT NULL REFERENCES hook (id) ON DELETE CASCADE,
    PRIMARY KEY (repo_id, event, hook_id)
);

CREATE INDEX subscription_hook ON subscription (hook_id);

-- What happened.

CREATE TABLE event (
    id {id},
    guid TEXT NOT NULL,
    scope BIGINT NOT NULL,              -- whose guid it is: a repository, or minus a source
    repo_id BIGINT NOT NULL,            -- 0: of no repository known here
    source_id BIGINT NOT NULL DEFAULT 0,
    name TEXT NOT NULL,
    action TEXT,
    installation_id BIGINT,
    received_at BIGINT NOT NULL,
    size BIGINT NOT NULL,
    digest {blob} NOT NULL,             -- of the body, to tell a repetition from a contradiction
    body {blob},                        -- zstd; NULL once retention has let go of it
    UNIQUE (guid, scope)
);

CREATE INDEX event_kept ON event (id) WHERE body IS NOT NULL;
CREATE INDEX event_repository ON event (repo_id, name, id);

-- What of it has to reach whom. Nothing but these rows is the queue.
CREATE TABLE delivery (
    id {id},
    event_id BIGINT NOT NULL,
    hook_id BIGINT NOT NULL,
    repo_id BIGINT NOT NULL,
    state SMALLINT NOT NULL,            -- 0 waiting, 1 delivered, 2 dead
    attempts SMALLINT NOT NULL DEFAULT 0,
    redelivery SMALLINT NOT NULL DEFAULT 0,
    due_at BIGINT NOT NULL,             -- while waiting: not before; afterwards: when it ended
    lease_id BIGINT,                    -- the worker that has it in hand
    reason TEXT                         -- why it died without an attempt
);

CREATE INDEX delivery_due ON delivery (hook_id, due_at) WHERE state = 0 AND lease_id IS NULL;
CREATE INDEX delivery_leased ON delivery (lease_id) WHERE lease_id IS NOT NULL;
CREATE INDEX delivery_event ON delivery (event_id);

CREATE TABLE attempt (
    id {id},
    delivery_id BIGINT NOT NULL,
    hook_id BIGINT NOT NULL,
    event_id BIGINT NOT NULL,
    repo_id BIGINT NOT NULL,
    number SMALLINT NOT NULL,           -- 1 for a delivery's first
    redelivery SMALLINT NOT NULL,
    started_at BIGINT NOT NULL,
    duration BIGINT NOT NULL,           -- microseconds
    status_code SMALLINT,
    error TEXT,                         -- stage: what went wrong
    url TEXT NOT NULL,
    address TEXT,                       -- as dialled
    timings TEXT NOT NULL,              -- JSON object, stage to microseconds
    request_head TEXT NOT NULL,         -- as sent
    response_head TEXT,                 -- as received, to a bound
    response_body TEXT
);

CREATE INDEX attempt_hook ON attempt (hook_id, id);
CREATE INDEX attempt_delivery ON attempt (delivery_id);

-- A worker's claim on what it has in hand, good until it expires.
CREATE TABLE lease (
    id {id},
    holder TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

-- What was turned away at the door after its sender was known.
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
