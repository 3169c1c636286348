-- What is done on schedule, once, however many workers there are.
CREATE TABLE job (
    name TEXT PRIMARY KEY,
    due_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    outcome TEXT                        -- done, or what went wrong
);
