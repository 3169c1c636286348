-- What the dashboard remembers, and what it is read from.

-- A look at one hook, for whoever develops its receiver.
CREATE TABLE hook_link (
    id {id},
    hook_id BIGINT NOT NULL REFERENCES hook (id) ON DELETE CASCADE,
    hash TEXT NOT NULL UNIQUE,          -- SHA-256 of what the link ends with, which is not kept
    note TEXT NOT NULL,
    made_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX hook_link_hook ON hook_link (hook_id, id);
CREATE INDEX hook_link_expires ON hook_link (expires_at);

-- Who is signed in, by what: a token, the administrators' token, or a link.
CREATE TABLE ui_session (
    id TEXT PRIMARY KEY,                -- SHA-256 of what the cookie holds, which is not kept
    token_id BIGINT REFERENCES token (id) ON DELETE CASCADE,
    token_hash TEXT,                    -- the token's when it signed in: another value is another
    operator TEXT,                      -- a digest of the administrators' token
    link_id BIGINT REFERENCES hook_link (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX ui_session_expires ON ui_session (expires_at);
CREATE INDEX ui_session_token ON ui_session (token_id) WHERE token_id IS NOT NULL;
CREATE INDEX ui_session_link ON ui_session (link_id) WHERE link_id IS NOT NULL;

-- What went wrong is looked for among much that went well.
CREATE INDEX attempt_failed ON attempt (id)
    WHERE status_code IS NULL OR status_code NOT BETWEEN 200 AND 299 OR error IS NOT NULL;
CREATE INDEX attempt_hook_failed ON attempt (hook_id, id)
    WHERE status_code IS NULL OR status_code NOT BETWEEN 200 AND 299 OR error IS NOT NULL;

-- Until when the worker leaves the hook's endpoint alone after failures; in the past: it tries.
ALTER TABLE hook ADD COLUMN resting_until BIGINT;

-- What happened in each minute (since 1970), in a repository and (repo_id 0) everywhere. Each
-- process counts in a row of its own, lest they wait for each other.
CREATE TABLE tally (
    minute BIGINT NOT NULL,
    repo_id BIGINT NOT NULL,
    shard SMALLINT NOT NULL,
    events BIGINT NOT NULL DEFAULT 0,
    delivered BIGINT NOT NULL DEFAULT 0,    -- attempts that the receiver took
    failed BIGINT NOT NULL DEFAULT 0,       -- attempts that it did not
    -- First attempts that were taken, by how long that was after their event: store.tallies.BOUNDS.
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
