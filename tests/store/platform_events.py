"""Events of a platform, which a test projects without a request."""

from typing import Any

from transactions import transaction

from store import Row, Store
from store.delivery import sources
from store.projection import projection_table

HEAD_COMMIT: dict[str, Any] = {
    "id": "a" * 40,
    "tree_id": "c" * 40,
    "message": "Oil the tenor",
    "timestamp": "2026-11-20T10:00:00+01:00",
    "author": {"name": "Octo", "email": "octo@tower.example", "username": "OCTO"},
    "committer": {"name": "Ann", "email": "ann@tower.example"},
}
"""The member `head_commit` of a push. The login of the author is the one of seed's octo."""


def report(
    store: Store,
    repo: Row,
    event: str,
    *,
    source_id: int = sources.OPERATOR,
    **payload: Any,
) -> None:
    """Project an event (`name` or `name.action`) of the repository, as if a source had sent it.

    If `source_id` is 0, nobody has signed the event.
    """
    name, _, action = event.partition(".")
    about = {"name": name, "action": action or None, "repo_id": repo["id"], "source_id": source_id}
    if name in projection_table.PREPARED:
        projection_table.PREPARED[name](payload)

    with transaction(store) as db:
        projection_table.project(db, projection_table.projected_events(db) | about, payload)
