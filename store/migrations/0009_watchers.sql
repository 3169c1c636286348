-- Every repository that is shown tells how many watch it: counted where that changes.
ALTER TABLE repository ADD COLUMN watchers BIGINT NOT NULL DEFAULT 0;

UPDATE repository SET watchers = (SELECT count(*) FROM watching w
    WHERE w.repo_id = repository.id AND w.subscribed = 1);
