-- Applications, and the tokens that they hold for users.

CREATE TABLE app (
    id {id},
    owner_id BIGINT NOT NULL REFERENCES account (id),
    kind TEXT NOT NULL,                 -- oauth: its tokens have scopes; integration: permissions
    name TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,      -- lower case: names are compared without case
    url TEXT NOT NULL,
    description TEXT,
    permissions TEXT NOT NULL,          -- JSON object, name to level: the most its tokens may do
    client_id TEXT NOT NULL UNIQUE,
    secret_hash TEXT NOT NULL,          -- SHA-256 of the client secret, which itself is not kept
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- That a user lets an application act; it outlives the tokens that came of it.
CREATE TABLE app_grant (
    id {id},
    app_id BIGINT NOT NULL REFERENCES app (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (account_id, app_id)
);

ALTER TABLE token ADD COLUMN app_id BIGINT REFERENCES app (id) ON DELETE CASCADE;
ALTER TABLE token ADD COLUMN fingerprint TEXT;      -- tells apart what one app has of one user
ALTER TABLE token ADD COLUMN note_url TEXT;
ALTER TABLE token ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0;
-- Made with a password, without single sign-on.
ALTER TABLE token ADD COLUMN by_password SMALLINT NOT NULL DEFAULT 0;
-- Of a scoped token: whose repositories, and which of them (JSON array of ids; NULL: all).
ALTER TABLE token ADD COLUMN target_id BIGINT REFERENCES account (id) ON DELETE CASCADE;
ALTER TABLE token ADD COLUMN repositories TEXT;
UPDATE token SET updated_at = created_at;

CREATE INDEX token_account ON token (account_id, id);
CREATE INDEX token_app ON token (app_id, account_id) WHERE app_id IS NOT NULL;

-- What an account's one-time passwords are made from.
CREATE TABLE one_time (
    account_id BIGINT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    secret {blob} NOT NULL,             -- sealed, base 32
    used_step BIGINT NOT NULL,          -- of time: codes up to this one are spent
    created_at BIGINT NOT NULL
);
