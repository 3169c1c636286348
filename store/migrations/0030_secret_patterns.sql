-- Which version of its patterns' settings an organization is at.
CREATE TABLE secret_pattern_configuration (
    organization_id BIGINT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    version TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Patterns of secrets in an organization: its own, and what there is to say of the providers'.
CREATE TABLE secret_pattern (
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    token_type TEXT NOT NULL,
    custom SMALLINT NOT NULL,
    slug TEXT NOT NULL,
    display_name TEXT NOT NULL,
    default_setting TEXT NOT NULL,      -- disabled or enabled
    setting TEXT NOT NULL,              -- the same, or not-set
    version TEXT,                       -- of a custom one
    alerts BIGINT NOT NULL DEFAULT 0,
    false_positives BIGINT NOT NULL DEFAULT 0,
    blocks BIGINT NOT NULL DEFAULT 0,
    bypasses BIGINT NOT NULL DEFAULT 0, -- of these blocks
    PRIMARY KEY (organization_id, token_type)
);

-- Alerts as platforms tell of them, so that each is counted once.
CREATE TABLE secret_alert (
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    token_type TEXT NOT NULL,
    false_positive SMALLINT NOT NULL,
    bypassed SMALLINT NOT NULL,
    told_at BIGINT,                     -- the platform's time of what was told last
    PRIMARY KEY (repo_id, number)
);
