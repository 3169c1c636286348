-- Workflow runs and their jobs, and the concurrency groups that they wait for and hold.

CREATE TABLE workflow_run (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,             -- the platform's id
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    attempt BIGINT NOT NULL DEFAULT 1,
    groups_named BIGINT NOT NULL DEFAULT 0,     -- concurrency groups in its configuration
    created_at BIGINT NOT NULL,
    told_at BIGINT,                     -- the platform's time of what was told last
    UNIQUE (repo_id, number)
);

CREATE TABLE workflow_job (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,             -- the platform's id
    run_id BIGINT NOT NULL REFERENCES workflow_run (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    path TEXT NOT NULL,                 -- its name after those of the jobs that call its workflow
    status TEXT NOT NULL,
    UNIQUE (repo_id, number)
);

CREATE INDEX workflow_job_run ON workflow_job (run_id);

CREATE TABLE concurrency_group (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    name TEXT NOT NULL,                 -- as it was first told
    name_key {blob} NOT NULL,           -- lower case, in UTF-8: its order is that of the bytes
    members BIGINT NOT NULL DEFAULT 0,
    last_acquired_at BIGINT,
    UNIQUE (repo_id, name_key)
);

CREATE INDEX concurrency_group_active ON concurrency_group (repo_id, name_key) WHERE members > 0;

-- How many groups of a repository are active, so that nobody has to count them.
CREATE TABLE concurrency_tally (
    repo_id BIGINT PRIMARY KEY REFERENCES repository (id) ON DELETE CASCADE,
    active BIGINT NOT NULL
);

-- The groups that a run's configuration names.
CREATE TABLE concurrency_use (
    run_id BIGINT NOT NULL REFERENCES workflow_run (id) ON DELETE CASCADE,
    name_key {blob} NOT NULL,           -- that of the group: a run's groups are told in this order
    group_id BIGINT NOT NULL REFERENCES concurrency_group (id) ON DELETE CASCADE,
    PRIMARY KEY (run_id, name_key)
);

CREATE INDEX concurrency_use_group ON concurrency_use (group_id);

-- Who holds a group, and who waits for it.
CREATE TABLE concurrency_member (
    id {id},
    group_id BIGINT NOT NULL REFERENCES concurrency_group (id) ON DELETE CASCADE,
    run_id BIGINT NOT NULL REFERENCES workflow_run (id) ON DELETE CASCADE,
    seat TEXT NOT NULL,                 -- what of the run it is: the run, a job, a called workflow
    job_id BIGINT REFERENCES workflow_job (id) ON DELETE CASCADE,       -- of a job
    path TEXT,                          -- of a called workflow: of the job that calls it
    waiting SMALLINT NOT NULL,          -- 0: holds the group
    since BIGINT NOT NULL,
    UNIQUE (run_id, seat)
);

CREATE INDEX concurrency_member_queue ON concurrency_member (group_id, waiting, since, id);
CREATE INDEX concurrency_member_job ON concurrency_member (job_id) WHERE job_id IS NOT NULL;
