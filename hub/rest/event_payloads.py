"""From changes in the API's state to the payloads of their events."""

from collections.abc import Sequence
from typing import Any

from hub.rest import repository_serializers
from hub.rest.serializers import SimpleUser
from hub.rest.urls import Urls
from hub.rest.vocabulary import Vocabulary
from store import Connection, Row

EventData = tuple[Row | None, dict[str, Any]]
"""A change: the repository that it was in, if any, and what is told of it."""


def sent_by(user: SimpleUser | None) -> dict[str, Any]:
    """Who wrote something sends what tells how it is, where that is known."""
    return {} if user is None else {"sender": user}


def payloads(
    urls: Urls, words: Vocabulary | None, db: Connection, told: Sequence[EventData]
) -> list[tuple[int, dict[str, Any]]]:
    """The repository's id (0: none) and the payload for each, the repository in it, with as few
    statements for many as for one.
    """
    repos = {repo["id"]: repo for repo, _ in told if repo is not None}
    listed = repository_serializers.repositories(urls, db, [*repos.values()]) if repos else []
    shown = dict(zip(repos, listed, strict=True))
    if words:
        shown = {repo_id: words.payload(repo) for repo_id, repo in shown.items()}
    found = []
    for repo, payload in told:
        if words:
            payload = words.payload(payload)
        repo_id = 0 if repo is None else repo["id"]
        found.append(
            (repo_id, payload if repo is None else payload | {"repository": shown[repo_id]})
        )
    return found
