"""Events of a platform, which a test projects without a request."""

from typing import Any

from store import Connection, Row, Store
from store.projection import projection_table


def report(store: Store, repo: Row, event: str, **payload: Any) -> None:
    """Project an event (`name` or `name.action`) of the repository, as if a source had sent it."""

    def project(db: Connection) -> None:
        name, _, action = event.partition(".")
        about = {"name": name, "action": action or None, "repo_id": repo["id"]}
        projection_table.project(db, projection_table.projected_events(db) | about, payload)

    store.do(project)
