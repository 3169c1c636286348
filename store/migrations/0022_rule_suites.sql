-- What came of the rules of a repository, or of its organization, when somebody pushed.
CREATE TABLE rule_suite (
    id {id},
    repo_id BIGINT NOT NULL REFERENCES repository (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,             -- the id of the place it comes from
    owner_id BIGINT NOT NULL REFERENCES account (id),   -- of the repository, which keeps its owner
    actor_id BIGINT REFERENCES account (id) ON DELETE SET NULL,
    before_sha TEXT NOT NULL,
    after_sha TEXT NOT NULL,
    ref TEXT NOT NULL,                  -- in full: refs/heads/main
    ref_name TEXT NOT NULL,             -- without refs/heads/ or refs/tags/
    pushed_at BIGINT NOT NULL,
    result TEXT NOT NULL,               -- pass, fail or bypass
    evaluation_result TEXT,             -- what rules would have come to that are being tried
    active SMALLINT NOT NULL,           -- 1: there are rules in force among them
    evaluated SMALLINT NOT NULL,        -- 1: there are rules that are being tried among them
    evaluations TEXT NOT NULL,          -- JSON array, as the API shows them
    UNIQUE (repo_id, number)
);

CREATE INDEX rule_suite_pushed ON rule_suite (repo_id, pushed_at, id);
CREATE INDEX rule_suite_ref ON rule_suite (repo_id, ref_name, pushed_at, id);
CREATE INDEX rule_suite_owner ON rule_suite (owner_id, pushed_at, id);
CREATE INDEX rule_suite_owner_number ON rule_suite (owner_id, number);
CREATE INDEX rule_suite_actor ON rule_suite (actor_id, pushed_at, id) WHERE actor_id IS NOT NULL;
