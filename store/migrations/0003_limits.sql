-- How much of its limits each caller has spent in the window that is running.
CREATE TABLE spent (
    subject TEXT NOT NULL,              -- an account, an application or an address
    resource TEXT NOT NULL,             -- which of the limits
    window_start BIGINT NOT NULL,       -- seconds since the epoch
    window_end BIGINT NOT NULL,
    used BIGINT NOT NULL,
    PRIMARY KEY (subject, resource)
);

-- Logins that failed of late, by who was named and where it came from.
CREATE TABLE failed_login (
    who TEXT PRIMARY KEY,
    times INTEGER NOT NULL,
    since BIGINT NOT NULL
);

-- What repositories were called before, so that old links lead on.
CREATE TABLE repository_name (
    owner_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    name_key TEXT NOT NULL,
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    PRIMARY KEY (owner_id, name_key)
);

CREATE INDEX repository_name_repository ON repository_name (repo_id);

-- Organizations that ask for single sign-on, and the tokens that were authorised for them.
ALTER TABLE account ADD COLUMN sso SMALLINT NOT NULL DEFAULT 0;

CREATE TABLE token_authorization (
    token_id BIGINT NOT NULL REFERENCES token (id) ON DELETE CASCADE,
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (token_id, organization_id)
);
