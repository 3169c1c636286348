-- What people say about commits.

CREATE TABLE commit_comment (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    foreign_id BIGINT,                  -- what the platform that told of it calls it
    commit_id TEXT NOT NULL,            -- the whole SHA, lower case
    path TEXT,
    position BIGINT,                    -- line within the diff
    line BIGINT,                        -- line within the file
    author_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    author_association TEXT NOT NULL,
    body TEXT NOT NULL,
    html TEXT NOT NULL,                 -- rendered and sanitised
    plain TEXT NOT NULL,                -- without markup
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    told_at BIGINT,                     -- the platform's time of what was told last
    UNIQUE (repo_id, foreign_id)
);

CREATE INDEX commit_comment_repository ON commit_comment (repo_id, id);
CREATE INDEX commit_comment_commit ON commit_comment (repo_id, commit_id, id);
