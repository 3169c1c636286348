"""Access to the hooks of a repository, of an organization, and of an app."""

from hub.auth.access import on_repo
from hub.auth.app_access import as_integration
from hub.auth.organization_access import on_org

READ = on_repo("webhooks", "read", role="admin", scopes=("read:repo_hook", "repo"))
WRITE = on_repo("webhooks", "write", role="admin", scopes=("write:repo_hook", "repo"))

SCOPES = ("admin:org_hook",)
OF_ORGANIZATION = on_org("organization_hooks", "read", owner=True, hidden=True, scopes=SCOPES)
TO_ORGANIZATION = on_org("organization_hooks", "write", owner=True, hidden=True, scopes=SCOPES)

ITSELF = as_integration()
