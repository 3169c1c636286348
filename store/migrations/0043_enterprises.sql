-- Enterprises: who belongs to them, which organizations are theirs, and their teams.

CREATE TABLE enterprise (
    id {id},
    slug TEXT NOT NULL UNIQUE,          -- lower case
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE enterprise_member (
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    role TEXT NOT NULL,                 -- owner, billing_manager or member
    PRIMARY KEY (enterprise_id, account_id)
);

CREATE INDEX enterprise_member_account ON enterprise_member (account_id);

CREATE TABLE enterprise_organization (
    organization_id BIGINT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE
);

CREATE INDEX enterprise_organization_enterprise
    ON enterprise_organization (enterprise_id, organization_id);

CREATE TABLE enterprise_team (
    id {id},
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,                 -- ent: and the name in lower case
    name TEXT NOT NULL,
    description TEXT,
    selection TEXT NOT NULL,            -- which organizations: disabled, selected or all
    group_id TEXT,
    notification_setting TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (enterprise_id, slug)
);

CREATE INDEX enterprise_team_enterprise ON enterprise_team (enterprise_id, id);

CREATE TABLE enterprise_team_organization (
    team_id BIGINT NOT NULL REFERENCES enterprise_team (id) ON DELETE CASCADE,
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    PRIMARY KEY (team_id, organization_id)
);

CREATE TABLE enterprise_team_member (
    team_id BIGINT NOT NULL REFERENCES enterprise_team (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (team_id, account_id)
);

CREATE INDEX enterprise_team_member_account ON enterprise_team_member (account_id);
