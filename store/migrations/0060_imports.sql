-- Imports of a repository's history from elsewhere: at most one for each, the latest.
CREATE TABLE source_import (
    repo_id BIGINT PRIMARY KEY REFERENCES repository (id) ON DELETE CASCADE,
    round BIGINT NOT NULL,              -- another one each time that it is begun anew
    account_id BIGINT REFERENCES account (id) ON DELETE SET NULL,   -- who asked for it
    vcs_url TEXT NOT NULL,
    vcs TEXT,                           -- git, mercurial, subversion, tfvc; NULL while not known
    project TEXT,                       -- which of those that are at the URL
    username TEXT,
    password {blob},                    -- sealed
    status TEXT NOT NULL,
    step TEXT NOT NULL,                 -- with which a worker begins: detecting, importing, mapping
    due_at BIGINT,                      -- since when a worker is to see to it; NULL: it is not
    failed_step TEXT,
    error_message TEXT,
    commit_count BIGINT,
    authors_count BIGINT,
    import_percent BIGINT,
    push_percent BIGINT,
    use_lfs TEXT NOT NULL,              -- undecided, opt_in, opt_out
    large_files_count BIGINT NOT NULL,
    large_files_size BIGINT NOT NULL,   -- in bytes, of all of them
    project_choices TEXT NOT NULL,      -- JSON array
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX source_import_due ON source_import (due_at, repo_id) WHERE due_at IS NOT NULL;

-- Who made its commits and tags, and what they are to be called.
CREATE TABLE import_author (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES source_import (repo_id) ON DELETE CASCADE,
    digest TEXT NOT NULL,               -- of name and address as they are in the source
    remote_name TEXT NOT NULL,
    remote_id TEXT NOT NULL,
    name TEXT NOT NULL,
    email TEXT NOT NULL
);

CREATE UNIQUE INDEX import_author_digest ON import_author (repo_id, digest);
CREATE INDEX import_author_listed ON import_author (repo_id, id);

-- Its files that are larger than the platform takes.
CREATE TABLE import_large_file (
    repo_id BIGINT NOT NULL REFERENCES source_import (repo_id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    ref_name TEXT NOT NULL,
    path TEXT NOT NULL,
    oid TEXT NOT NULL,
    size BIGINT NOT NULL,
    PRIMARY KEY (repo_id, position)
);
