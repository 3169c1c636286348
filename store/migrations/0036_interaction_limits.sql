-- Who may for a while not comment, open issues or make pull requests. One that is over is none;
-- it waits for the worker, which tells of its end.
CREATE TABLE interaction_limit (
    id {id},
    account_id BIGINT REFERENCES account (id) ON DELETE CASCADE,    -- in all that is this account's,
    repo_id BIGINT REFERENCES repository (id) ON DELETE CASCADE,    -- or in this repository
    allowed TEXT NOT NULL,              -- existing_users, contributors_only or collaborators_only
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL          -- a whole second
);

CREATE INDEX interaction_limit_account ON interaction_limit (account_id)
    WHERE account_id IS NOT NULL;
CREATE INDEX interaction_limit_repository ON interaction_limit (repo_id) WHERE repo_id IS NOT NULL;
CREATE INDEX interaction_limit_expiry ON interaction_limit (expires_at, id);

-- How many pull requests one user may have open.
CREATE TABLE organization_cap (
    account_id BIGINT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    enabled SMALLINT NOT NULL,
    most INTEGER NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE repository_cap (
    repo_id BIGINT PRIMARY KEY REFERENCES repository (id) ON DELETE CASCADE,
    enabled SMALLINT NOT NULL,
    most INTEGER NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Whom it does not hold for.
CREATE TABLE cap_bypass (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (repo_id, account_id)
);
