-- The key pair that a repository's secrets are sealed to on their way here.
CREATE TABLE devenv_key (
    repo_id BIGINT PRIMARY KEY REFERENCES repository (id) ON DELETE CASCADE,
    key_id TEXT NOT NULL,               -- what the API calls it
    public_key TEXT NOT NULL,           -- base64
    private_key {blob} NOT NULL,        -- base64, sealed
    created_at BIGINT NOT NULL
);

-- Secrets that a repository gives to the environments its people work in.
CREATE TABLE devenv_secret (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    name TEXT NOT NULL,                 -- upper case
    value {blob} NOT NULL,              -- base64, sealed
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (repo_id, name)
);
