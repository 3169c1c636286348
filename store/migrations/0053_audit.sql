-- Who changed what. Rows are only added, their numbers without a gap; each carries a digest of
-- itself and of the one before, made with the key in audit_chain.
CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,                -- a login, an app's client id, user@host
    via TEXT NOT NULL,                  -- token, password, app, command, daemon
    account_id BIGINT,
    token_id BIGINT,
    address TEXT,                       -- where a request came from
    action TEXT NOT NULL,               -- an operation, or a command
    target TEXT NOT NULL,               -- a path, or the command's arguments
    outcome TEXT NOT NULL,              -- a status, or how it ended
    request_id TEXT,
    details TEXT NOT NULL,              -- JSON object: names of changed fields, ids; never a value
    through BIGINT,                     -- rows up to this one are let go of
    digest {blob} NOT NULL
);

CREATE INDEX audit_actor ON audit (actor, id);
CREATE INDEX audit_action ON audit (action, id);
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_through ON audit (through) WHERE through IS NOT NULL;

CREATE TABLE audit_chain (
    id SMALLINT PRIMARY KEY,            -- 1
    secret {blob} NOT NULL              -- sealed
);

{audit_guard};
{audit_update};
{audit_delete};
{audit_truncate};
