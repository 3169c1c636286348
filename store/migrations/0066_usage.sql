-- How the coding assistant is used in enterprises, a day at a time.

-- Whether that may be collected and shown: enabled, disabled or unconfigured (it is left to others).
ALTER TABLE enterprise ADD COLUMN usage_metrics TEXT NOT NULL DEFAULT 'unconfigured';

CREATE TABLE usage_day (
    id {id},
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE,
    day INTEGER NOT NULL,               -- days since 1970-01-01
    version BIGINT NOT NULL,            -- counts the changes
    made_version BIGINT NOT NULL,       -- which of them its reports have; 0: there are none
    UNIQUE (enterprise_id, day)
);

CREATE INDEX usage_day_changed ON usage_day (day, enterprise_id) WHERE made_version < version;

-- Editors, languages and models: few, and long beside the numbers.
CREATE TABLE usage_name (
    id {id},
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,                 -- editor, language or model
    name TEXT NOT NULL,
    UNIQUE (enterprise_id, kind, name)
);

-- A row for each combination; 0 stands for what is not said. Whose rows they are may be gone.
CREATE TABLE usage (
    id {id},
    day_id BIGINT NOT NULL REFERENCES usage_day (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL,
    organization_id BIGINT NOT NULL,
    repo_id BIGINT NOT NULL,
    team_id BIGINT NOT NULL,
    editor_id BIGINT NOT NULL,
    language_id BIGINT NOT NULL,
    model_id BIGINT NOT NULL,
    suggestions INTEGER NOT NULL,
    acceptances INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    chats INTEGER NOT NULL,
    active SMALLINT NOT NULL,
    engaged SMALLINT NOT NULL,
    UNIQUE (day_id, user_id, organization_id, repo_id, team_id, editor_id, language_id, model_id)
);

CREATE INDEX usage_repository ON usage (day_id, repo_id) WHERE repo_id > 0;
