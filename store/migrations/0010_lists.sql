-- Lists begin where their index begins.
CREATE INDEX app_grant_account ON app_grant (account_id, id);
CREATE INDEX hook_listed ON hook (repo_id, id) WHERE deleted_at IS NULL;
