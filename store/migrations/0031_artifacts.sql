-- That an artifact was built from a repository, as a platform has attested it.
CREATE TABLE attestation (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (repo_id, digest)
);

CREATE INDEX attestation_digest ON attestation (digest, id);

-- What is deployed and stored: of one repository, each digest once.
CREATE TABLE artifact (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,               -- sha256: and hexadecimal digits, lower case
    name TEXT NOT NULL,
    version TEXT,
    deployments BIGINT NOT NULL DEFAULT 0,      -- how many records there are of each kind
    storages BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (repo_id, digest)
);

CREATE INDEX artifact_digest ON artifact (organization_id, digest);

-- Where artifacts run, or have run. What was not said is an empty text, for it is part of the key.
CREATE TABLE deployment_record (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    artifact_id BIGINT NOT NULL REFERENCES artifact (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,               -- the artifact's, to be found by
    cluster TEXT NOT NULL,
    logical_environment TEXT NOT NULL,
    physical_environment TEXT NOT NULL,
    deployment_name TEXT NOT NULL,
    status TEXT NOT NULL,               -- deployed or decommissioned
    tags TEXT,                          -- JSON object of texts
    runtime_risks TEXT,                 -- JSON array
    attestation_id BIGINT REFERENCES attestation (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (organization_id, cluster, logical_environment, physical_environment, deployment_name)
);

CREATE INDEX deployment_record_digest ON deployment_record (organization_id, digest, id);
CREATE INDEX deployment_record_artifact ON deployment_record (artifact_id);
CREATE INDEX deployment_record_attestation ON deployment_record (attestation_id)
    WHERE attestation_id IS NOT NULL;

-- Where artifacts are kept. What was not said is an empty text, for it is part of the key.
CREATE TABLE storage_record (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    artifact_id BIGINT NOT NULL REFERENCES artifact (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,               -- the artifact's, to be found by
    registry_url TEXT NOT NULL,
    repository TEXT NOT NULL,           -- of the registry
    path TEXT NOT NULL,
    artifact_url TEXT,
    status TEXT NOT NULL,               -- active, eol or deleted
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (artifact_id, registry_url, repository, path)
);

CREATE INDEX storage_record_digest ON storage_record (organization_id, digest, id);
