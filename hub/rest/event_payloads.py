"""Conversion of changes in the API's state to event payloads."""

from collections.abc import Iterable, Sequence
from typing import Any

from hub.rest import organization_serializers, repository_serializers
from hub.rest.serializers import SimpleUser
from hub.rest.urls import Urls
from hub.rest.vocabulary import Vocabulary
from store import Connection, Row
from store.accounts import accounts

EventData = tuple[Row | None, dict[str, Any]]
"""The repository a change belongs to, if any, and the payload of its event."""


def sent_by(user: SimpleUser | None) -> dict[str, Any]:
    """Return the payload's `sender` member; empty if the user is not known (id 0)."""
    return {} if user is None or not user["id"] else {"sender": user}


def payloads(
    urls: Urls, words: Vocabulary | None, db: Connection, data: Sequence[EventData]
) -> list[tuple[int, dict[str, Any]]]:
    """Return each event's repository id (0: none) and payload.

    The repository is added to it, and the organization that owns that. Many events need as few
    statements as one.
    """
    repos = {repo["id"]: repo for repo, _ in data if repo is not None}
    listed = repository_serializers.detailed(urls, db, [*repos.values()]) if repos else []
    shown = dict(zip(repos, listed, strict=True))
    owners = _organizations(db, repos.values())
    around: dict[int, dict[str, Any]] = {
        repo_id: {"repository": one, **_owner(urls, repos[repo_id], owners)}
        for repo_id, one in shown.items()
    }
    if words:
        around = {repo_id: words.payload(members) for repo_id, members in around.items()}
    found = []
    for repo, payload in data:
        if words:
            payload = words.payload(payload)
        repo_id = 0 if repo is None else repo["id"]
        found.append((repo_id, payload if repo is None else payload | around[repo_id]))
    return found


def _organizations(db: Connection, repos: Iterable[Row]) -> dict[int, Row]:
    """Return the organizations that own repositories, by their ids."""
    ids = {repo["owner_id"] for repo in repos if repo["owner_kind"] == "Organization"}
    return accounts.of(db, ids) if ids else {}


def _owner(urls: Urls, repo: Row, organizations: dict[int, Row]) -> dict[str, Any]:
    owner = organizations.get(repo["owner_id"])
    if owner is None:
        return {}
    return {"organization": organization_serializers.organization(urls, owner)}
