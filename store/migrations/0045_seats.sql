-- Teams of organizations, and who of an organization has a seat at the coding assistant.

CREATE TABLE team (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    privacy TEXT NOT NULL,              -- secret or closed
    permission TEXT NOT NULL,
    notification_setting TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (organization_id, slug)
);

CREATE TABLE team_member (
    team_id BIGINT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    PRIMARY KEY (team_id, account_id)
);

CREATE INDEX team_member_account ON team_member (account_id);

-- That an organization pays for the assistant, and how it is set up there.
CREATE TABLE assistant_subscription (
    organization_id BIGINT PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    plan TEXT NOT NULL,                 -- business or enterprise
    payable SMALLINT NOT NULL,          -- whether billing is set up
    seat_management TEXT NOT NULL,      -- assign_all, assign_selected, disabled or unconfigured
    public_code TEXT NOT NULL,          -- allow, block or unconfigured
    ide_chat TEXT NOT NULL,             -- enabled, disabled or unconfigured, like the next two
    platform_chat TEXT NOT NULL,
    cli TEXT NOT NULL
);

-- Teams whose members have a seat.
CREATE TABLE assistant_team (
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    team_id BIGINT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
    PRIMARY KEY (organization_id, team_id)
);

CREATE TABLE assistant_seat (
    id {id},
    organization_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    team_id BIGINT REFERENCES team (id) ON DELETE SET NULL,     -- through which it came
    personal SMALLINT NOT NULL,         -- whether it was given to the user, and not only to a team
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    expires_at BIGINT,                  -- when it ends, where that is pending
    active_at BIGINT,
    editor TEXT,
    authenticated_at BIGINT,
    UNIQUE (organization_id, account_id)
);

CREATE INDEX assistant_seat_page ON assistant_seat (organization_id, id);
CREATE INDEX assistant_seat_expiry ON assistant_seat (expires_at, id) WHERE expires_at IS NOT NULL;
