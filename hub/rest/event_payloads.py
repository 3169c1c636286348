"""Conversion of changes in the API's state to event payloads."""

from collections.abc import Sequence
from typing import Any

from hub.rest import repository_serializers
from hub.rest.serializers import SimpleUser
from hub.rest.urls import Urls
from hub.rest.vocabulary import Vocabulary
from store import Connection, Row

EventData = tuple[Row | None, dict[str, Any]]
"""The repository a change belongs to, if any, and the payload of its event."""


def sent_by(user: SimpleUser | None) -> dict[str, Any]:
    """Return the payload's `sender` member; empty if the user is not known."""
    return {} if user is None else {"sender": user}


def payloads(
    urls: Urls, words: Vocabulary | None, db: Connection, data: Sequence[EventData]
) -> list[tuple[int, dict[str, Any]]]:
    """Return each event's repository id (0: none) and payload, with the repository added to it.

    It needs as few statements for many events as for one.
    """
    repos = {repo["id"]: repo for repo, _ in data if repo is not None}
    listed = repository_serializers.repositories(urls, db, [*repos.values()]) if repos else []
    shown = dict(zip(repos, listed, strict=True))
    if words:
        shown = {repo_id: words.payload(repo) for repo_id, repo in shown.items()}
    found = []
    for repo, payload in data:
        if words:
            payload = words.payload(payload)
        repo_id = 0 if repo is None else repo["id"]
        found.append(
            (repo_id, payload if repo is None else payload | {"repository": shown[repo_id]})
        )
    return found
