-- Who watches a repository, and who wants to hear nothing of it. Neither is a star.
CREATE TABLE watching (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    subscribed SMALLINT NOT NULL,
    ignored SMALLINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (repo_id, account_id)
);

CREATE INDEX watching_watchers ON watching (repo_id, created_at, account_id) WHERE subscribed = 1;
CREATE INDEX watching_account ON watching (account_id, created_at, repo_id) WHERE subscribed = 1;

ALTER TABLE repository ADD COLUMN stars BIGINT NOT NULL DEFAULT 0;

-- The addresses of an account. One is the primary: the first that there was.
CREATE TABLE email (
    id {id},
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL UNIQUE,     -- lower case: an address is one account's, whatever its case
    is_primary SMALLINT NOT NULL,
    verified SMALLINT NOT NULL,
    visibility TEXT,                    -- public or private; NULL for all but the primary
    created_at BIGINT NOT NULL
);

CREATE INDEX email_account ON email (account_id, id);
CREATE UNIQUE INDEX email_primary ON email (account_id) WHERE is_primary = 1;

INSERT INTO email (account_id, email, email_key, is_primary, verified, visibility, created_at)
SELECT a.id, a.email, lower(a.email), 1, 1, 'private', a.created_at FROM account a
WHERE a.kind = 'User' AND a.email LIKE '%_@_%' AND NOT EXISTS (
    SELECT 1 FROM account b
    WHERE b.kind = 'User' AND lower(b.email) = lower(a.email) AND b.id < a.id
);

-- A branch's license file, with what was found out about it when it was stored.
CREATE TABLE license_file (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    branch TEXT NOT NULL,
    path TEXT NOT NULL,
    sha TEXT NOT NULL,                  -- that of the git blob
    content {blob} NOT NULL,
    html TEXT,                          -- rendered, not sanitised; NULL for what is no Markdown
    license TEXT NOT NULL,              -- its key; other where it is none that is known
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (repo_id, branch)
);
