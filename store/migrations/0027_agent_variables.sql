-- What an organization tells the agents that work in its repositories.
CREATE TABLE agent_variable (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    name TEXT NOT NULL,                 -- upper case
    value TEXT NOT NULL,
    visibility TEXT NOT NULL,           -- all, private or selected
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (organization_id, name)
);

-- The repositories of a variable that only selected ones see.
CREATE TABLE agent_variable_repository (
    variable_id BIGINT NOT NULL REFERENCES agent_variable (id) ON DELETE CASCADE,
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    PRIMARY KEY (variable_id, repo_id)
);

CREATE INDEX agent_variable_repository_repo ON agent_variable_repository (repo_id);
