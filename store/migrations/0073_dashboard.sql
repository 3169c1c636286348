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
