-- What is done at its time: when each job is due, who has it in hand, and how its last run ended.
ALTER TABLE job RENAME TO job_before;

CREATE TABLE job (
    name TEXT PRIMARY KEY,
    schedule TEXT NOT NULL,             -- in words, as the worker that planned it has it
    due_at BIGINT,                      -- NULL: there is nothing to be done
    served_at BIGINT,                   -- when the last run began that was not before its time
    asked_at BIGINT,                    -- somebody wants it to run now
    held_until BIGINT NOT NULL DEFAULT 0,
    holder TEXT,                        -- which worker has it in hand until then
    started_at BIGINT,
    ended_at BIGINT,
    outcome TEXT,                       -- done, failed, stopped
    error TEXT,
    failures INTEGER NOT NULL DEFAULT 0,        -- in a row
    rests_until BIGINT NOT NULL DEFAULT 0       -- after a failure
);

INSERT INTO job (name, schedule, due_at, started_at, ended_at, outcome, error)
SELECT name, '', due_at, started_at, ended_at,
    CASE WHEN outcome IS NULL OR outcome = 'done' THEN outcome ELSE 'failed' END,
    CASE WHEN outcome = 'done' THEN NULL ELSE outcome END
FROM job_before;

DROP TABLE job_before;

-- Tokens are found by when they end.
CREATE INDEX token_expiry ON token (expires_at, id) WHERE expires_at IS NOT NULL;
