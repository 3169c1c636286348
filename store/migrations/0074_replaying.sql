-- What is delivered once more, and how far that has come; and what lists are read by.
CREATE TABLE replaying (
    id {id},
    since BIGINT,                       -- received since; NULL: whenever
    until BIGINT,                       -- and before
    repo_id BIGINT,                     -- NULL: of all repositories
    hook_id BIGINT,                     -- NULL: to all hooks
    event TEXT,                         -- NULL: whatever it is called
    failed SMALLINT NOT NULL,           -- only what a hook has not got and will not get
    first_id BIGINT NOT NULL,           -- behind this event it begins,
    last_id BIGINT NOT NULL,            -- with this one it is over,
    after_id BIGINT NOT NULL,           -- and so far it has come
    total BIGINT,                       -- deliveries, where they were counted
    made BIGINT NOT NULL DEFAULT 0,
    moves BIGINT NOT NULL DEFAULT 0,    -- counts its steps, so that two cannot do the same one
    asked_by TEXT NOT NULL,             -- a login
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    moved_at BIGINT NOT NULL DEFAULT 0,
    ended_at BIGINT,
    outcome TEXT                        -- done or cancelled
);

CREATE INDEX replaying_open ON replaying (moved_at, id) WHERE ended_at IS NULL;
CREATE INDEX replaying_ended ON replaying (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX replaying_repository ON replaying (repo_id, id);

-- A repository's events in their order.
CREATE INDEX event_in_order ON event (repo_id, id);
