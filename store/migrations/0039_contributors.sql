-- Who made pull requests in a repository.
CREATE INDEX issue_pull_author ON issue (repo_id, author_id) WHERE is_pull = 1;
