-- What an enterprise says of the providers' patterns, for all of its organizations.
CREATE TABLE enterprise_secret_pattern (
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE,
    token_type TEXT NOT NULL,
    setting TEXT NOT NULL,              -- not-set, disabled or enabled
    PRIMARY KEY (enterprise_id, token_type)
);
