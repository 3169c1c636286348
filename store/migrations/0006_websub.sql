-- WebSub: who follows a topic, and until when. In the queue and in its records it is the hook -id.
CREATE TABLE websub (
    id {id},
    key TEXT NOT NULL UNIQUE,           -- digest of the topic and the callback
    repo_id BIGINT NOT NULL,            -- 0: the topic is not hosted here
    topic_key TEXT NOT NULL,            -- which one: the repository's, or a digest of its URL
    topic TEXT NOT NULL,                -- as the subscriber wrote it
    self_url TEXT NOT NULL,             -- as the topic calls itself
    hub TEXT NOT NULL,                  -- the hub's URL, as it was advertised
    callback TEXT NOT NULL,             -- byte for byte
    secret {blob},                      -- sealed
    lease_ends_at BIGINT NOT NULL,
    request_id BIGINT NOT NULL,         -- the latest request that was verified
    version BIGINT NOT NULL DEFAULT 1,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    ended_at BIGINT,
    reason TEXT                         -- why it ended
);

CREATE INDEX websub_topic_followed ON websub (repo_id, topic_key) WHERE ended_at IS NULL;
CREATE INDEX websub_lease ON websub (lease_ends_at) WHERE ended_at IS NULL;

-- Requests whose intent is to be verified, and denials that are to be told.
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
    secret {blob},
    lease_seconds BIGINT NOT NULL,
    verify_token TEXT,
    reason TEXT,                        -- why it is denied
    host TEXT NOT NULL,                 -- of the callback
    client TEXT NOT NULL,               -- who asked; empty: nobody did
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

-- Topics of others: what was fetched of them last, and whether that is to be done again.
CREATE TABLE websub_topic (
    id {id},
    key TEXT NOT NULL UNIQUE,           -- digest of the URL
    url TEXT NOT NULL,
    due_at BIGINT,                      -- NULL: nothing is to be fetched
    taken_until BIGINT NOT NULL DEFAULT 0,
    tries SMALLINT NOT NULL DEFAULT 0,
    fetched_at BIGINT,
    etag TEXT,
    last_modified TEXT,
    digest TEXT,                        -- of the content that was distributed last
    event_id BIGINT,                    -- that distribution, whole
    part_id BIGINT,                     -- the same without what was delivered before
    error TEXT
);

CREATE INDEX websub_topic_due ON websub_topic (due_at) WHERE due_at IS NOT NULL;

-- What kind of content a distribution of such a topic is.
CREATE TABLE websub_content (
    event_id BIGINT PRIMARY KEY REFERENCES event (id) ON DELETE CASCADE,
    content_type TEXT NOT NULL
);

-- Subscriptions are now those of hooks and of WebSub, so their hook is no reference any more.
CREATE TABLE subscribed (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    event TEXT NOT NULL,                -- a name, or * for all of the platform's
    hook_id BIGINT NOT NULL,
    PRIMARY KEY (repo_id, event, hook_id)
);

INSERT INTO subscribed (repo_id, event, hook_id) SELECT repo_id, event, hook_id FROM subscription;
DROP TABLE subscription;
ALTER TABLE subscribed RENAME TO subscription;
CREATE INDEX subscription_hook ON subscription (hook_id);
