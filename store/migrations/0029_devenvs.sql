-- Kinds of machines for environments: those that differ from the ones that the program knows.
CREATE TABLE devenv_machine (
    name TEXT PRIMARY KEY,
    display_name TEXT NOT NULL,
    operating_system TEXT NOT NULL,
    storage_in_bytes BIGINT NOT NULL,
    memory_in_bytes BIGINT NOT NULL,
    cpus BIGINT NOT NULL,
    locations TEXT,                     -- JSON array of names; NULL is everywhere
    offered SMALLINT NOT NULL
);

-- Where environments can be: places that differ from the ones that the program knows.
CREATE TABLE devenv_location (
    name TEXT PRIMARY KEY,
    networks TEXT NOT NULL,             -- JSON array: whoever asks from these is sent here
    is_default SMALLINT NOT NULL        -- where everybody else is sent
);

-- Environments of people.
CREATE TABLE devenv (
    id {id},
    name TEXT NOT NULL UNIQUE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    ref TEXT NOT NULL,                  -- a branch or a commit
    machine TEXT NOT NULL,
    location TEXT NOT NULL
);

CREATE INDEX devenv_account ON devenv (account_id);
CREATE INDEX devenv_repository ON devenv (repo_id);

-- What has been built of a repository ahead of time.
CREATE TABLE devenv_prebuild (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    ref TEXT NOT NULL,                  -- a branch or a commit
    machine TEXT NOT NULL,
    availability TEXT NOT NULL,         -- none, in_progress or ready
    PRIMARY KEY (repo_id, ref, machine)
);

-- What a repository asks of a machine.
CREATE TABLE devenv_restriction (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    ref TEXT NOT NULL,                  -- a branch or a commit; empty for all of them
    cpus BIGINT NOT NULL,
    memory_in_bytes BIGINT NOT NULL,
    storage_in_bytes BIGINT NOT NULL,
    machines TEXT,                      -- JSON array of names; NULL is any
    PRIMARY KEY (repo_id, ref)
);
