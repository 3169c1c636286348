-- What apps find out about commits.

-- Apps of platforms, as the checks that they made tell of them.
CREATE TABLE foreign_app (
    id {id},
    number BIGINT NOT NULL,             -- what the platform calls it
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    owner_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    description TEXT,
    external_url TEXT,
    html_url TEXT,
    permissions TEXT NOT NULL,          -- JSON object, name to level
    events TEXT NOT NULL,               -- JSON array
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (number, slug)
);

-- What one app has to say of one commit.
CREATE TABLE check_suite (
    id {id},
    number BIGINT,                      -- what the API calls it: the platform's id, or its own
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    head_sha TEXT NOT NULL,
    head_branch TEXT,
    before_sha TEXT,
    after_sha TEXT,
    app_id BIGINT REFERENCES app (id) ON DELETE SET NULL,       -- NULL: a platform's app, or none
    foreign_app_id BIGINT REFERENCES foreign_app (id),
    app_number BIGINT,                  -- what the API calls its app
    reflected SMALLINT NOT NULL DEFAULT 0,      -- a platform's, and not of an app of this one
    status TEXT NOT NULL,
    conclusion TEXT,
    pulls TEXT,                         -- JSON array, as told; NULL where nothing was told
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    told_at BIGINT,                     -- the platform's time of what was told last
    UNIQUE (repo_id, number),
    UNIQUE (repo_id, head_sha, app_id)
);

CREATE INDEX check_suite_own_app ON check_suite (app_id) WHERE app_id IS NOT NULL;
CREATE INDEX check_suite_foreign_app ON check_suite (foreign_app_id)
    WHERE foreign_app_id IS NOT NULL;

CREATE TABLE check_run (
    id {id},
    number BIGINT,                      -- as that of a suite
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    suite_id BIGINT NOT NULL REFERENCES check_suite (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    latest SMALLINT NOT NULL DEFAULT 0, -- 1: the newest of its name in its suite
    status TEXT NOT NULL,
    conclusion TEXT,
    asked_again SMALLINT NOT NULL DEFAULT 0,    -- 1: nothing came of a request for it since
    external_id TEXT,
    details_url TEXT,
    started_at BIGINT,
    completed_at BIGINT,
    title TEXT,
    summary TEXT,
    content TEXT,                       -- the output's text
    images TEXT NOT NULL DEFAULT '[]',  -- JSON array
    actions TEXT NOT NULL DEFAULT '[]', -- JSON array
    annotations BIGINT NOT NULL DEFAULT 0,      -- how many there are
    pulls TEXT,                         -- as those of a suite
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (repo_id, number)
);

CREATE INDEX check_run_suite ON check_run (suite_id, number);
CREATE INDEX check_run_latest ON check_run (suite_id, number) WHERE latest = 1;
CREATE INDEX check_run_name ON check_run (suite_id, name, number);
CREATE INDEX check_run_status ON check_run (suite_id, status, number);

-- How many runs a suite has of each sort, so that nobody has to count them.
CREATE TABLE check_tally (
    suite_id BIGINT NOT NULL REFERENCES check_suite (id) ON DELETE CASCADE,
    latest SMALLINT NOT NULL,
    status TEXT NOT NULL,
    conclusion TEXT NOT NULL,           -- empty where there is none
    asked_again SMALLINT NOT NULL,
    runs BIGINT NOT NULL,
    PRIMARY KEY (suite_id, latest, status, conclusion, asked_again)
);

CREATE TABLE check_annotation (
    id {id},
    run_id BIGINT NOT NULL REFERENCES check_run (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    start_line BIGINT NOT NULL,
    end_line BIGINT NOT NULL,
    start_column BIGINT,
    end_column BIGINT,
    level TEXT NOT NULL,                -- notice, warning or failure
    message TEXT NOT NULL,
    title TEXT,
    raw_details TEXT
);

CREATE INDEX check_annotation_run ON check_annotation (run_id, id);

-- Which branch a commit is the head of.
CREATE INDEX ref_commit ON ref (repo_id, sha);
