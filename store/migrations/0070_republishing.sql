-- What is published once more, as it is now, and how far that has come.
CREATE TABLE republishing (
    id {id},
    topic TEXT NOT NULL,                -- as it was asked for: owner/repo/events/event
    owner TEXT NOT NULL,                -- lower case; * stands for anything, here and in the next
    repo TEXT NOT NULL,
    event TEXT NOT NULL,
    since BIGINT,                       -- only what has changed since; NULL: everything
    rate BIGINT NOT NULL,               -- events a second at most
    scheduled SMALLINT NOT NULL,        -- by the settings, and not by a command
    total BIGINT NOT NULL,              -- how much there was when it was asked for
    published BIGINT NOT NULL DEFAULT 0,
    resource TEXT,                      -- where it has come to: what kind of thing,
    repo_id BIGINT NOT NULL DEFAULT 0,  -- of which repository,
    place TEXT,                         -- and after which of these (JSON); NULL: at the first
    moves BIGINT NOT NULL DEFAULT 0,    -- counts its steps, so that two cannot do the same one
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    moved_at BIGINT,
    ended_at BIGINT,
    outcome TEXT                        -- done or stopped
);

CREATE INDEX republishing_open ON republishing (id) WHERE ended_at IS NULL;
CREATE INDEX republishing_ended ON republishing (ended_at) WHERE ended_at IS NOT NULL;
