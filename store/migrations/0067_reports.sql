-- Reports of usage: what there is, and the lines of each, compressed, from which any machine can
-- make the file that it serves.
CREATE TABLE report (
    id {id},
    enterprise_id BIGINT NOT NULL REFERENCES enterprise (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,                 -- as in its path: enterprise-1-day, users-28-day, ...
    first_day INTEGER NOT NULL,         -- days since 1970-01-01
    last_day INTEGER NOT NULL,
    version BIGINT NOT NULL,            -- of the days that it is of
    created_at BIGINT NOT NULL,
    made_at BIGINT,                     -- when it was there as a whole
    replaced_at BIGINT,                 -- when another one took its place
    lines BIGINT NOT NULL DEFAULT 0,
    size BIGINT NOT NULL DEFAULT 0,     -- bytes of the file
    digest TEXT NOT NULL DEFAULT ''     -- SHA-256 of the file
);

CREATE INDEX report_kind ON report (enterprise_id, kind, last_day, id);
CREATE INDEX report_unmade ON report (id) WHERE made_at IS NULL;
CREATE INDEX report_replaced ON report (replaced_at) WHERE replaced_at IS NOT NULL;
CREATE INDEX report_old ON report (last_day);

CREATE TABLE report_part (
    report_id BIGINT NOT NULL REFERENCES report (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,            -- from 0
    content {blob} NOT NULL,
    PRIMARY KEY (report_id, number)
);
