"""The rights in a repository that its hooks require, and its topics that are not public."""

from hub.auth.repository_access import on_repo

READ = on_repo("webhooks", "read", role="admin", scopes=("read:repo_hook", "repo"))
WRITE = on_repo("webhooks", "write", role="admin", scopes=("write:repo_hook", "repo"))
