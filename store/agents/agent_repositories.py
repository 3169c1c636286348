"""Which repositories are selected for an organization's agent variable, and who may say so."""

from collections.abc import Iterable

from store.accounts.viewers import RepositoryViewer, may_see, visible_among
from store.agents import agent_variables
from store.agents.agent_variables import SELECTED, find
from store.database.connection import Connection, Row
from store.errors import Conflict, Invalid
from store.repositories import repositories


def get(db: Connection, variable_id: int, repo_id: int) -> Row | None:
    """The repository of this id, if it belongs to the variable's organization."""
    owner_id = db.value("SELECT organization_id FROM agent_variable WHERE id = :id", id=variable_id)
    repo = repositories.get(db, repo_id)
    return repo if repo is not None and repo["owner_id"] == owner_id else None


def page(
    db: Connection, variable_id: int, viewer: RepositoryViewer, *, limit: int, offset: int
) -> list[Row]:
    """The repositories that are selected, by id: those that the viewer may see."""
    shown, given = may_see(db, viewer)
    return db.all(
        f"{repositories.SELECT} JOIN agent_variable_repository s ON s.repo_id = r.id"
        f" WHERE s.variable_id = :variable_id AND {shown}"
        " ORDER BY s.repo_id LIMIT :limit OFFSET :offset",
        variable_id=variable_id,
        limit=limit,
        offset=offset,
        **given,
    )


def count(db: Connection, variable_id: int, viewer: RepositoryViewer) -> int:
    """How many there are of these."""
    shown, given = may_see(db, viewer)
    found: int = db.value(
        "SELECT count(*) FROM agent_variable_repository s JOIN repository r ON r.id = s.repo_id"
        f" JOIN account a ON a.id = r.owner_id WHERE s.variable_id = :variable_id AND {shown}",
        variable_id=variable_id,
        **given,
    )
    return found


def ids(db: Connection, variable_id: int) -> set[int]:
    """The ids of all that are selected."""
    rows = db.tuples(
        "SELECT repo_id FROM agent_variable_repository WHERE variable_id = :variable_id",
        variable_id=variable_id,
    )
    return {repo_id for (repo_id,) in rows}


def check(
    db: Connection, organization_id: int, viewer: RepositoryViewer, repo_ids: Iterable[int]
) -> None:
    """Invalid for what is no repository of the organization that the viewer may see."""
    wanted = set(repo_ids)
    strange = wanted - visible_among(db, viewer, organization_id, wanted)
    if strange:
        message = f"{min(strange)} is no repository of this organization"
        raise Invalid(message, **find(SELECTED, "missing"))


def check_is_selected(row: Row) -> None:
    """Conflict for a variable that is not only for selected repositories."""
    if row["visibility"] != "selected":
        raise Conflict("The visibility of this variable is not `selected`.")


def select(db: Connection, row: Row, repo_id: int, *, wanted: bool) -> bool:
    """Select a repository, or no longer; whether that changes anything. Conflict where none are
    selected, Invalid for too many.
    """
    check_is_selected(row)
    agent_variables.lock(db, row["organization_id"])
    before = ids(db, row["id"])
    after = before | {repo_id} if wanted else before - {repo_id}
    return agent_variables.update(db, row, selected=after)


def collaborates(
    db: Connection, organization_id: int, account_id: int, viewer: RepositoryViewer
) -> bool:
    """Whether somebody may push to one of the organization's repositories that the viewer may
    see.
    """
    shown, given = may_see(db, viewer)
    found = db.value(
        "SELECT 1 FROM collaborator p JOIN repository r ON r.id = p.repo_id"
        " JOIN account a ON a.id = r.owner_id WHERE p.account_id = :account_id"
        " AND p.role IN ('write', 'maintain', 'admin') AND r.owner_id = :organization_id"
        f" AND {shown} LIMIT 1",
        account_id=account_id,
        organization_id=organization_id,
        **given,
    )
    return found is not None
