"""The repositories that are selected for an organization's agent variable."""

from collections.abc import Iterable

from store.accounts.viewers import RepositoryViewer, may_see, visible_among
from store.agents import agent_variables
from store.agents.agent_variables import SELECTED, find
from store.database import paging
from store.database.connection import Connection, Row
from store.errors import Conflict, Invalid
from store.repositories import repositories


def get(db: Connection, variable_id: int, repo_id: int) -> Row | None:
    """Return the repository with this id if it is in the variable's organization, else None."""
    owner_id = db.value("SELECT organization_id FROM agent_variable WHERE id = :id", id=variable_id)
    repo = repositories.get(db, repo_id)
    return repo if repo is not None and repo["owner_id"] == owner_id else None


def page(
    db: Connection, variable_id: int, viewer: RepositoryViewer, *, limit: int, offset: int
) -> list[Row]:
    """Return the selected repositories that the viewer may see, by id."""
    shown, given = may_see(db, viewer)
    return paging.page(
        db,
        f"{repositories.SELECT} JOIN agent_variable_repository s ON s.repo_id = r.id"
        f" WHERE s.variable_id = :variable_id AND {shown}"
        " ORDER BY s.repo_id",
        limit,
        offset,
        variable_id=variable_id,
        **given,
    )


def count(db: Connection, variable_id: int, viewer: RepositoryViewer) -> int:
    """Return how many repositories `page` can return."""
    shown, given = may_see(db, viewer)
    return db.number(
        "SELECT count(*) FROM agent_variable_repository s JOIN repository r ON r.id = s.repo_id"
        f" JOIN account a ON a.id = r.owner_id WHERE s.variable_id = :variable_id AND {shown}",
        variable_id=variable_id,
        **given,
    )


def ids(db: Connection, variable_id: int) -> set[int]:
    rows = db.column(
        "SELECT repo_id FROM agent_variable_repository WHERE variable_id = :variable_id",
        variable_id=variable_id,
    )
    return set(rows)


def check(
    db: Connection, organization_id: int, viewer: RepositoryViewer, repo_ids: Iterable[int]
) -> None:
    """Raise Invalid unless all are repositories of the organization that the viewer may see."""
    wanted = set(repo_ids)
    strange = wanted - visible_among(db, viewer, organization_id, wanted)
    if strange:
        message = f"{min(strange)} is not a repository of this organization"
        raise Invalid(message, **find(SELECTED, "missing"))


def check_is_selected(row: Row) -> None:
    """Raise Conflict if the variable is not for selected repositories only.

    A caller that changes the variable locks it first.
    """
    if row["visibility"] != "selected":
        raise Conflict("The visibility of this variable is not `selected`.")


def select(db: Connection, row: Row, repo_id: int, *, wanted: bool) -> bool:
    """Select or deselect a repository. Return whether that changes anything.

    Raises Conflict if the variable is not for selected repositories, Invalid for too many.
    """
    check_is_selected(agent_variables.locked(db, row))
    before = ids(db, row["id"])
    after = before | {repo_id} if wanted else before - {repo_id}
    return agent_variables.update(db, row, selected=after)
