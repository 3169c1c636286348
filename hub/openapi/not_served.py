"""The families of the platform's paths that this server does not serve, although URLs name them.

Responses contain all URLs that the platform's responses contain, so clients request such paths. The
server answers 404 with a link to the page of the manual that lists these families.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from hub.http.routing import Line, matched
from hub.rest.resolve import SLASHED

PAGE = "/reference/not-served"
BY_ID = re.compile(r"^/repositories/[^/]+")
# A part of a path in braces stands for one segment, and with an asterisk for any number of them.
PART = re.compile(r"\{(\*?)([a-z_:-]*)\}")


class Family(NamedTuple):
    """Paths about the same subject, the `title`. `text` says why they are not served."""

    title: str
    text: str
    paths: tuple[str, ...]

    @property
    def place(self) -> str:
        """Return where the manual describes the family."""
        return f"{PAGE}#{self.title.lower().replace(' ', '-')}"


REPO = "/repos/{owner}/{repo}"
FAMILIES = (
    Family(
        "Search",
        "The API has no search across repositories. The lists have filters of their own.",
        ("/search/{*rest}",),
    ),
    Family(
        "Contents of repositories",
        "The server keeps no files and no history: it knows branches, tags and the commits that "
        "events name.",
        (
            f"{REPO}/contents",
            f"{REPO}/contents/{{*path}}",
            f"{REPO}/readme",
            f"{REPO}/git/blobs",
            f"{REPO}/git/blobs/{{sha}}",
            f"{REPO}/git/commits",
            f"{REPO}/git/commits/{{sha}}",
            f"{REPO}/git/tags",
            f"{REPO}/git/tags/{{sha}}",
            f"{REPO}/git/trees",
            f"{REPO}/git/trees/{{*sha}}",
            f"{REPO}/commits",
            f"{REPO}/commits/{{*ref}}/branches-where-head",
            f"{REPO}/commits/{{*ref}}/pulls",
            f"{REPO}/compare/{{*range}}",
            f"{REPO}/merges",
            f"{REPO}/tarball",
            f"{REPO}/tarball/{{*ref}}",
            f"{REPO}/zipball",
            f"{REPO}/zipball/{{*ref}}",
            f"{REPO}/contributors",
            f"{REPO}/languages",
            f"{REPO}/pulls/{{number}}/commits",
            f"{REPO}/pulls/{{number}}/files",
        ),
    ),
    Family(
        "Settings of repositories",
        "The server does not keep what protects branches, nor keys of machines, nor forks.",
        (
            f"{REPO}/branches/{{*branch}}/protection",
            f"{REPO}/keys",
            f"{REPO}/keys/{{id}}",
            f"{REPO}/forks",
        ),
    ),
    Family(
        "Releases and deployments",
        "Their events are delivered like all others, but the server makes no lists from them.",
        (
            f"{REPO}/deployments",
            f"{REPO}/deployments/{{*id}}",
            f"{REPO}/downloads",
            f"{REPO}/releases",
            f"{REPO}/releases/{{*id}}",
        ),
    ),
    Family(
        "Reactions",
        "Events report comments and reviews, and no reactions to them.",
        (
            f"{REPO}/comments/{{id}}/reactions",
            f"{REPO}/issues/{{number}}/reactions",
            f"{REPO}/issues/comments/{{id}}/reactions",
            f"{REPO}/pulls/comments/{{id}}/reactions",
        ),
    ),
    Family(
        "Parts of workflow runs",
        "The server knows workflows, runs, their jobs and groups, and no logs. No event reports "
        "artifacts, so each run has an empty list of them. The server starts no runs. To deliver "
        "`repository_dispatch`, [post the event](../how-to/post-events.md) like any other.",
        (
            f"{REPO}/dispatches",
            f"{REPO}/actions/jobs/{{id}}/logs",
            f"{REPO}/actions/jobs/{{id}}/rerun",
            f"{REPO}/actions/runs/{{id}}/attempts/{{number}}/logs",
            f"{REPO}/actions/runs/{{id}}/cancel",
            f"{REPO}/actions/runs/{{id}}/logs",
            f"{REPO}/actions/runs/{{id}}/rerun",
            f"{REPO}/actions/workflows/{{id}}/disable",
            f"{REPO}/actions/workflows/{{id}}/dispatches",
            f"{REPO}/actions/workflows/{{id}}/enable",
            f"{REPO}/actions/workflows/{{id}}/timing",
        ),
    ),
    Family(
        "Lists of issues across repositories",
        "Each repository has its own list of issues. To find the labels of a milestone, list its "
        "issues.",
        (
            "/issues",
            "/user/issues",
            "/orgs/{org}/issues",
            f"{REPO}/milestones/{{number}}/labels",
        ),
    ),
    Family(
        "Single assignees and labels of issues",
        "An issue has the lists of its assignees and labels. A DELETE of one label is served too.",
        (
            f"{REPO}/issues/{{number}}/assignees/{{assignee}}",
            f"{REPO}/issues/{{number}}/labels/{{name}}",
        ),
    ),
    Family(
        "Feeds and notifications",
        "Hooks and WebSub subscriptions take the place of the platform's own feeds.",
        (
            "/events",
            "/feeds",
            "/notifications",
            "/notifications/{*rest}",
            "/orgs/{org}/events",
            "/users/{username}/events",
            "/users/{username}/events/{*rest}",
            "/users/{username}/received_events",
            "/users/{username}/received_events/{*rest}",
            f"{REPO}/events",
            f"{REPO}/notifications",
        ),
    ),
    Family(
        "Gists",
        "The server keeps no gists.",
        ("/gists", "/gists/{*rest}", "/users/{username}/gists", "/users/{username}/gists/{*rest}"),
    ),
    Family(
        "Keys and followers of users",
        "Nothing brings keys and followers here: there is neither an event nor a place in the "
        "state document. Stars are listed for each repository.",
        (
            "/user/followers",
            "/user/following",
            "/user/following/{*rest}",
            "/user/keys",
            "/user/keys/{*rest}",
            "/user/starred",
            "/user/starred/{*rest}",
            "/users/{username}/followers",
            "/users/{username}/following",
            "/users/{username}/following/{*rest}",
            "/users/{username}/starred",
            "/users/{username}/starred/{*rest}",
        ),
    ),
    Family(
        "Repositories of teams",
        "A repository has a list of its teams, and an organization lists its teams.",
        (
            "/user/teams",
            "/orgs/{org}/teams/{team_slug}/repos",
            "/orgs/{org}/teams/{team_slug}/repos/{*rest}",
        ),
    ),
    Family(
        "Requests to install apps",
        "The operator installs apps, suspends them and chooses their repositories.",
        (
            "/app/installation-requests",
            "/app/installations/{id}/suspended",
            "/user/installations/{id}/repositories/{repository}",
        ),
    ),
    Family("Emojis", "The server has no pictures for words.", ("/emojis",)),
    Family(
        "A GraphQL API",
        "The server has the REST API alone. If the API's path ends with `/v3`, clients expect "
        "GraphQL beside it: `/api/graphql` for `/api/v3`.",
        ("/graphql",),
    ),
    Family(
        "Uploads of release files",
        "The server knows no releases. If the API's path ends with `/v3`, clients expect the "
        "uploads beside it: `/api/uploads` for `/api/v3`.",
        ("/uploads/{*rest}",),
    ),
)


def overlapping_paths(served: Iterable[str]) -> list[str]:
    """Return the paths that a parameter in one of the served paths would match."""
    lines = (Line("GET", path, SLASHED) for path in served)
    return matched((path for one in FAMILIES for path in one.paths), lines)


def family_of(path: str) -> Family | None:
    """Return the family of a path of the API (without the prefix), or None."""
    path = BY_ID.sub("/repos/{}/{}", path.rstrip("/"))
    return next((one for pattern, one in _patterns() if pattern.fullmatch(path)), None)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Family], ...]:
    return tuple((_pattern(path), one) for one in FAMILIES for path in one.paths)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(PART.sub(lambda found: ".+" if found[1] else "[^/]+", path))
