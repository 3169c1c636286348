"""Stand-ins for accounts and repositories that are not known here, where clients expect one.

Clients decide by the name of a repository whether they trust its code. So an unknown fork must not
look like its base.
"""

from collections.abc import Mapping
from typing import Any

from hub.rest.repository_serializers import described
from hub.rest.serializers import SimpleUser, simple_user
from hub.rest.urls import Urls
from store import Row

GHOST = "ghost"
UNKNOWN: Row = {
    "id": 0,
    "fork": 1,
    "archived": 0,
    "description": None,
    "homepage": None,
    "language": None,
    "topics": "[]",
    "size": 0,
    "forks": 0,
    "pushed_at": None,
}
COUNTS = ("stargazers_count", "watchers_count", "watchers", "subscribers_count", "open_issues")


def account(urls: Urls, login: str = GHOST) -> SimpleUser:
    """Return an account of which at most the login is known. Its id is 0."""
    return simple_user(urls, {"id": 0, "login": login, "kind": "User", "site_admin": 0})


def fork(urls: Urls, repo: Row, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return a fork of a repository that is not known here. Its id is 0.

    `shown` is the serialized form of the repository. The fork has the same members, except
    `permissions`. It has the owner `ghost` in place of the reported one: a repository with that
    name may have been private here before it was removed.
    """
    row = repo | UNKNOWN | {"full_name": f"{GHOST}/{repo['name']}"}
    known = {"license": None, "svn_url": urls.page(row), "open_issues_count": 0}
    found = dict.fromkeys(COUNTS, 0) | known | described(urls, row, account(urls))
    return {name: found.get(name, value) for name, value in shown.items() if name != "permissions"}
