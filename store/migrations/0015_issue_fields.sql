-- Fields that an organization gives the issues of its repositories, and what they are filled with.

CREATE TABLE issue_field (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,             -- lower case
    description TEXT,
    data_type TEXT NOT NULL,            -- text, number, date, single_select or multi_select
    visibility TEXT NOT NULL,           -- organization_members_only or all
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (organization_id, name_key)
);

CREATE TABLE issue_field_option (
    id {id},
    field_id BIGINT NOT NULL REFERENCES issue_field (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,             -- lower case
    description TEXT,
    color TEXT NOT NULL,
    priority BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (field_id, name_key)
);

CREATE TABLE issue_field_value (
    id {id},
    issue_id BIGINT NOT NULL REFERENCES issue (id) ON DELETE CASCADE,
    field_id BIGINT NOT NULL REFERENCES issue_field (id) ON DELETE CASCADE,
    value TEXT NOT NULL,                -- JSON; null where options are chosen
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (issue_id, field_id)
);

CREATE INDEX issue_field_value_field ON issue_field_value (field_id);

CREATE TABLE issue_field_choice (
    value_id BIGINT NOT NULL REFERENCES issue_field_value (id) ON DELETE CASCADE,
    option_id BIGINT NOT NULL REFERENCES issue_field_option (id) ON DELETE CASCADE,
    PRIMARY KEY (value_id, option_id)
);

CREATE INDEX issue_field_choice_option ON issue_field_choice (option_id);
