-- How far the ingested events have been turned into state: one row, once the first were.
CREATE TABLE reflection (
    id INTEGER PRIMARY KEY,             -- 1
    event_id BIGINT NOT NULL,           -- events up to this one are done with
    skipped BIGINT NOT NULL DEFAULT 0,  -- of these, how many could not be taken up
    lease_id BIGINT,                    -- the worker that does it
    moved_at BIGINT NOT NULL
);

-- Branches and tags, as pushes tell of them.
CREATE TABLE ref (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    name TEXT NOT NULL,                 -- in full: refs/heads/main
    sha TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (repo_id, name)
);
