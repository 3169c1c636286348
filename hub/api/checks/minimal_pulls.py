"""Serializers of pull requests as check runs, check suites and workflow runs have them."""

from collections.abc import Sequence
from typing import Any

import orjson
from typing_extensions import TypedDict

from hub.rest.urls import Urls
from store import Connection, Row
from store.issues import pulls


class PullRepository(TypedDict):
    id: int
    url: str
    name: str


class PullEnd(TypedDict):
    ref: str
    sha: str
    repo: PullRepository


class PullRequestMinimal(TypedDict):
    id: int
    number: int
    url: str
    head: PullEnd
    base: PullEnd


def heads(db: Connection, repo: Row, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the pull requests from the repository's own branches, by the SHA of a row's commit."""
    return pulls.of_heads(db, repo, {row["head_sha"] for row in rows}, own=True)


def of_row(urls: Urls, repo: Row, row: Row, heads: list[Row]) -> list[PullRequestMinimal]:
    """Serialize the pull requests that the platform reported, or else those that are known here."""
    if row["pulls"] is not None:
        return reported(urls, repo, row["pulls"])
    return [_pull(urls, repo, {**each, "id": each["foreign_id"] or each["id"]}) for each in heads]


def reported(urls: Urls, repo: Row, stored: str) -> list[PullRequestMinimal]:
    """Serialize the pull requests that a platform reported, from their stored form."""
    return [_pull(urls, repo, each) for each in orjson.loads(stored)]


def _pull(urls: Urls, repo: Row, pull: Any) -> PullRequestMinimal:
    here: PullRepository = {"id": repo["id"], "url": urls.repository(repo), "name": repo["name"]}
    return {
        "id": pull["id"],
        "number": pull["number"],
        "url": f"{here['url']}/pulls/{pull['number']}",
        "head": {"ref": pull["head_ref"], "sha": pull["head_sha"], "repo": here},
        "base": {"ref": pull["base_ref"], "sha": pull["base_sha"], "repo": here},
    }
