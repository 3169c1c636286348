-- What happened to issues and pull requests, and what was said on them.

CREATE TABLE issue_event (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    issue_id BIGINT NOT NULL REFERENCES issue (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,                 -- closed, labeled, commented, ...
    actor_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    commit_id TEXT,
    subject_id BIGINT,                  -- the comment, review or issue that it is about
    members TEXT NOT NULL,              -- JSON object: what its kind has beyond the others
    listed SMALLINT NOT NULL,           -- whether it is among the events
    shown SMALLINT NOT NULL,            -- whether it is in the timeline
    digest TEXT NOT NULL,               -- of the rest: it may be told twice, and happened once
    created_at BIGINT NOT NULL,
    UNIQUE (issue_id, kind, created_at, digest)
);

CREATE INDEX issue_event_repository ON issue_event (repo_id, listed, created_at, id);
CREATE INDEX issue_event_issue ON issue_event (issue_id, listed, created_at, id);
CREATE INDEX issue_event_timeline ON issue_event (issue_id, shown, created_at, id);
CREATE INDEX issue_event_subject ON issue_event (subject_id, kind) WHERE subject_id IS NOT NULL;

-- What is said on an issue or a pull request as a whole, in a review of it, or on a line of it.
CREATE TABLE issue_comment (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    issue_id BIGINT NOT NULL REFERENCES issue (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,                 -- comment, review or line
    foreign_id BIGINT NOT NULL,         -- what the platform that told of it calls it
    author_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    author_association TEXT NOT NULL,
    body TEXT,
    state TEXT,                         -- of a review: approved, changes_requested, ...
    commit_id TEXT,
    details TEXT NOT NULL,              -- JSON object: where on a line it is
    pinned_at BIGINT,
    pinned_by_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    told_at BIGINT,                     -- the platform's time of what was told last
    UNIQUE (repo_id, kind, foreign_id)
);

CREATE INDEX issue_comment_issue ON issue_comment (issue_id, id);
CREATE INDEX issue_comment_pinned ON issue_comment (issue_id) WHERE pinned_at IS NOT NULL;

-- Pull requests are found by their branch when it is pushed to, or goes.
CREATE INDEX pull_branch ON pull (repo_id, head_ref);
