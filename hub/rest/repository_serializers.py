"""The representation of repositories and licenses, shared by several groups."""

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, cast

import orjson
from typing_extensions import TypedDict

from hub.rest.serializers import SimpleUser, node_id, simple_user, time
from hub.rest.urls import Urls
from hub.rest.versions import NEWEST, UntilVersion
from store import Connection, Row
from store.accounts import accounts
from store.clock import iso
from store.repositories import license_catalog, licenses, repository_details, watching

# The path of each link after the repository's URL.
LINKS = {
    "archive": "/{archive_format}{/ref}",
    "assignees": "/assignees{/user}",
    "blobs": "/git/blobs{/sha}",
    "branches": "/branches{/branch}",
    "collaborators": "/collaborators{/collaborator}",
    "comments": "/comments{/number}",
    "commits": "/commits{/sha}",
    "compare": "/compare/{base}...{head}",
    "contents": "/contents/{+path}",
    "contributors": "/contributors",
    "deployments": "/deployments",
    "downloads": "/downloads",
    "events": "/events",
    "forks": "/forks",
    "git_commits": "/git/commits{/sha}",
    "git_refs": "/git/refs{/sha}",
    "git_tags": "/git/tags{/sha}",
    "hooks": "/hooks",
    "issue_comment": "/issues/comments{/number}",
    "issue_events": "/issues/events{/number}",
    "issues": "/issues{/number}",
    "keys": "/keys{/key_id}",
    "labels": "/labels{/name}",
    "languages": "/languages",
    "merges": "/merges",
    "milestones": "/milestones{/number}",
    "notifications": "/notifications{?since,all,participating}",
    "pulls": "/pulls{/number}",
    "releases": "/releases{/id}",
    "stargazers": "/stargazers",
    "statuses": "/statuses/{sha}",
    "subscribers": "/subscribers",
    "subscription": "/subscription",
    "tags": "/tags",
    "teams": "/teams",
    "trees": "/git/trees{/sha}",
}
URLS = {f"{name}_url": path for name, path in LINKS.items()}


class LicenseSimple(TypedDict):
    """A license in its short form. For an unknown license `key` is `other` and `url` is null."""

    key: str
    name: str
    spdx_id: str
    url: str | None
    node_id: str


class MinimalRepository(TypedDict):
    """A repository in its short form.

    `subscribers_count` counts watchers; `watchers` and `watchers_count` count stars.
    """

    id: int
    node_id: str
    name: str
    full_name: str
    owner: SimpleUser
    private: bool
    html_url: str
    description: str | None
    fork: bool
    url: str
    archive_url: str
    assignees_url: str
    blobs_url: str
    branches_url: str
    collaborators_url: str
    comments_url: str
    commits_url: str
    compare_url: str
    contents_url: str
    contributors_url: str
    deployments_url: str
    downloads_url: str
    events_url: str
    forks_url: str
    git_commits_url: str
    git_refs_url: str
    git_tags_url: str
    hooks_url: str
    issue_comment_url: str
    issue_events_url: str
    issues_url: str
    keys_url: str
    labels_url: str
    languages_url: str
    merges_url: str
    milestones_url: str
    notifications_url: str
    pulls_url: str
    releases_url: str
    stargazers_url: str
    statuses_url: str
    subscribers_url: str
    subscription_url: str
    tags_url: str
    teams_url: str
    trees_url: str
    git_url: str
    ssh_url: str
    clone_url: str
    homepage: str | None
    language: str | None
    topics: list[str]
    archived: bool
    size: int
    forks_count: int
    forks: int
    default_branch: str
    visibility: str
    created_at: str
    updated_at: str
    pushed_at: str | None
    license: LicenseSimple | None
    stargazers_count: int
    watchers_count: int
    watchers: int
    subscribers_count: int


class DetailedRepository(MinimalRepository):
    """A repository with its features, as events have it. `open_issues` counts pull requests too.

    `pushed_at` is the time of creation if nothing was pushed. `has_downloads` is false.
    """

    has_issues: bool
    has_projects: bool
    has_wiki: bool
    has_pages: bool
    has_discussions: bool
    has_downloads: Annotated[NotRequired[bool], UntilVersion(NEWEST)]
    is_template: bool
    disabled: bool
    mirror_url: str | None
    svn_url: str
    open_issues: int
    open_issues_count: int


def license_simple(urls: Urls, key: str) -> LicenseSimple:
    """Serialize a license in its short form."""
    known = license_catalog.get(key)
    return {
        "key": license_catalog.OTHER if known is None else known.key,
        "name": "Other" if known is None else known.name,
        "spdx_id": "NOASSERTION" if known is None else known.spdx_id,
        "url": None if known is None else urls.license(known.key),
        "node_id": node_id("License", license_catalog.OTHER if known is None else known.key),
    }


def repository(urls: Urls, db: Connection, repo: Row) -> MinimalRepository:
    """Serialize a repository in its short form, with its owner and all links."""
    (shown,) = repositories(urls, db, [repo])
    return shown


def repositories(urls: Urls, db: Connection, repos: Sequence[Row]) -> list[MinimalRepository]:
    """Serialize many repositories, with as few statements as for one."""
    ids = [repo["id"] for repo in repos]
    rows = accounts.of(db, {repo["owner_id"] for repo in repos})
    owners = {owner_id: simple_user(urls, row) for owner_id, row in rows.items()}
    counted = watching.counts(db, ids)
    licensed = licenses.license_of(db, ids)
    found = []
    for repo in repos:
        subscribers, stars = counted[repo["id"]]
        key = licensed.get(repo["id"])
        shown = {
            **described(urls, repo, owners[repo["owner_id"]]),
            "license": None if key is None else license_simple(urls, key),
            **dict.fromkeys(("stargazers_count", "watchers_count", "watchers"), stars),
            "subscribers_count": subscribers,
        }
        found.append(cast("MinimalRepository", shown))
    return found


def detailed(urls: Urls, db: Connection, repos: Sequence[Row]) -> list[DetailedRepository]:
    """Serialize many repositories with their features, with as few statements as for one."""
    known = repository_details.details(db, [repo["id"] for repo in repos])
    return [
        cast("DetailedRepository", {**one, **_details(urls, repo, known[repo["id"]])})
        for one, repo in zip(repositories(urls, db, repos), repos, strict=True)
    ]


def _details(urls: Urls, repo: Row, known: Row) -> dict[str, Any]:
    return {
        **{name: bool(known[name]) for name in repository_details.FEATURES},
        "has_downloads": False,
        "mirror_url": known["mirror_url"],
        "svn_url": urls.page(repo),
        **dict.fromkeys(("open_issues", "open_issues_count"), known["open_issues"]),
        "pushed_at": iso(repo["pushed_at"] or repo["created_at"]),
    }


def described(urls: Urls, repo: Row, owner: SimpleUser) -> dict[str, Any]:
    """Return the members that follow from a repository and its owner alone."""
    url = urls.repository(repo)
    return {
        "id": repo["id"],
        "node_id": node_id("Repository", repo["id"]),
        "name": repo["name"],
        "full_name": repo["full_name"],
        "owner": owner,
        "private": bool(repo["private"]),
        "html_url": urls.page(repo),
        "description": repo["description"],
        "fork": bool(repo["fork"]),
        "url": url,
        **{name: url + path for name, path in URLS.items()},
        "git_url": f"git://{urls.host}/{repo['full_name']}.git",
        "ssh_url": f"git@{urls.host}:{repo['full_name']}.git",
        "clone_url": f"{urls.page(repo)}.git",
        "homepage": repo["homepage"],
        "language": repo["language"],
        "topics": orjson.loads(repo["topics"]),
        "archived": bool(repo["archived"]),
        "size": repo["size"],
        "forks_count": repo["forks"],
        "forks": repo["forks"],
        "default_branch": repo["default_branch"],
        "visibility": "private" if repo["private"] else "public",
        "created_at": iso(repo["created_at"]),
        "updated_at": iso(repo["updated_at"]),
        "pushed_at": time(repo["pushed_at"]),
    }
