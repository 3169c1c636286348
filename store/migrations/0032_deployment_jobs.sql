-- Records of a cluster that are to be written by a worker.
CREATE TABLE deployment_job (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    account_id BIGINT REFERENCES account (id) ON DELETE SET NULL,   -- who asked for it
    cluster TEXT NOT NULL,
    logical_environment TEXT NOT NULL,
    physical_environment TEXT NOT NULL,
    status TEXT NOT NULL,               -- pending, processing, completed or failed
    total_count BIGINT NOT NULL,        -- how many were written
    errors TEXT NOT NULL,               -- JSON array
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT
);

CREATE UNIQUE INDEX deployment_job_cluster ON deployment_job (organization_id, cluster)
    WHERE ended_at IS NULL;
CREATE INDEX deployment_job_waiting ON deployment_job (created_at, id) WHERE ended_at IS NULL;
CREATE INDEX deployment_job_ended ON deployment_job (ended_at) WHERE ended_at IS NOT NULL;

-- Those that are still to be written.
CREATE TABLE deployment_job_entry (
    job_id BIGINT NOT NULL REFERENCES deployment_job (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    content TEXT NOT NULL,              -- JSON object
    PRIMARY KEY (job_id, position)
);
