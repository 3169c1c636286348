-- What platforms tell of in their events: accounts and repositories as they know them, and issues.

ALTER TABLE account ADD COLUMN foreign_id BIGINT;   -- what the platform that told of it calls it
ALTER TABLE account ADD COLUMN description TEXT;
-- Only ever heard of: nobody logs in as it, and who makes an account of this login takes it over.
ALTER TABLE account ADD COLUMN heard_of SMALLINT NOT NULL DEFAULT 0;

ALTER TABLE repository ADD COLUMN foreign_id BIGINT;
ALTER TABLE repository ADD COLUMN told_at BIGINT;   -- the platform's time of what was told last
ALTER TABLE repository ADD COLUMN homepage TEXT;
ALTER TABLE repository ADD COLUMN language TEXT;
ALTER TABLE repository ADD COLUMN topics TEXT NOT NULL DEFAULT '[]';    -- JSON array
ALTER TABLE repository ADD COLUMN fork SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE repository ADD COLUMN archived SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE repository ADD COLUMN forks BIGINT NOT NULL DEFAULT 0;
ALTER TABLE repository ADD COLUMN size BIGINT NOT NULL DEFAULT 0;       -- kB

CREATE TABLE label (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,             -- lower case
    foreign_id BIGINT,
    color TEXT NOT NULL,                -- six hexadecimal digits
    description TEXT,
    is_default SMALLINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (repo_id, name_key)
);

CREATE TABLE milestone (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    foreign_id BIGINT,
    title TEXT NOT NULL,
    description TEXT,
    state TEXT NOT NULL,                -- open or closed
    creator_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    open_issues BIGINT NOT NULL DEFAULT 0,      -- as the platform counts: it knows all of them
    closed_issues BIGINT NOT NULL DEFAULT 0,
    due_on BIGINT,
    closed_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    told_at BIGINT,                     -- the platform's time of what was told last
    UNIQUE (repo_id, number)
);

-- Issues, and what pull requests have of an issue.
CREATE TABLE issue (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    foreign_id BIGINT,
    is_pull SMALLINT NOT NULL DEFAULT 0,
    title TEXT NOT NULL,
    body TEXT,
    state TEXT NOT NULL,                -- open or closed
    state_reason TEXT,
    author_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    author_association TEXT NOT NULL DEFAULT 'NONE',
    closed_by_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    milestone_id BIGINT REFERENCES milestone (id) ON DELETE SET NULL,
    locked SMALLINT NOT NULL DEFAULT 0,
    lock_reason TEXT,
    comments BIGINT NOT NULL DEFAULT 0,
    closed_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    told_at BIGINT,                     -- the platform's time of what was told last
    deleted_at BIGINT,
    moved_to TEXT,                      -- owner/name of the repository that it was transferred to
    moved_number BIGINT,                -- its number there
    UNIQUE (repo_id, number)
);

CREATE INDEX issue_milestone ON issue (milestone_id, state) WHERE milestone_id IS NOT NULL;

CREATE TABLE issue_label (
    issue_id BIGINT NOT NULL REFERENCES issue (id) ON DELETE CASCADE,
    label_id BIGINT NOT NULL REFERENCES label (id) ON DELETE CASCADE,
    PRIMARY KEY (issue_id, label_id)
);

CREATE INDEX issue_label_label ON issue_label (label_id);

CREATE TABLE issue_assignee (
    issue_id BIGINT NOT NULL REFERENCES issue (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    PRIMARY KEY (issue_id, account_id)
);

-- What a pull request has beyond an issue.
CREATE TABLE pull (
    id {id},
    issue_id BIGINT NOT NULL UNIQUE REFERENCES issue (id) ON DELETE CASCADE,
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    foreign_id BIGINT,
    draft SMALLINT NOT NULL DEFAULT 0,
    head_ref TEXT NOT NULL,
    head_sha TEXT NOT NULL,
    head_repo TEXT,                     -- owner/name; NULL where that repository is gone
    base_ref TEXT NOT NULL,
    base_sha TEXT NOT NULL,
    merged_at BIGINT,
    merged_by_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    merge_commit_sha TEXT
);

CREATE INDEX pull_head ON pull (repo_id, head_sha);
