"""Events of a platform, which a test projects without a request."""

from typing import Any

from transactions import transaction

from store import Row, Store
from store.delivery import sources
from store.projection import projection_table


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
