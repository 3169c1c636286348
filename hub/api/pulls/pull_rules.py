"""Who may read pull requests, their reviews, and comments on their lines."""

from hub.auth.repository_access import on_repo

READ = on_repo("pull_requests", "read").or_anyone()
