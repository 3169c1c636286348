"""Repositories by the names that they have, had, or get next.

When a platform renames a repository, some payloads have its new name before the state has it, and
others still have a former one. The platform's id shows that it is the same repository.
"""

from typing import Any, NamedTuple

from store.database import payload_reader
from store.database.connection import Connection, Row
from store.repositories import repositories

IDENTITY: payload_reader.Readers = {
    "foreign_id": ("id", payload_reader.number),
    "created_at": payload_reader.timestamp,
}
CANDIDATES = (
    "SELECT r.id AS id, r.name_key, r.foreign_id, r.created_at, 0 AS former"
    " FROM account a JOIN repository r ON r.owner_id = a.id"
    " WHERE a.login_key = :owner AND r.foreign_id = :foreign_id"
    " UNION ALL SELECT r.id, r.name_key, r.foreign_id, r.created_at, 1"
    " FROM account a JOIN repository_name n ON n.owner_id = a.id"
    " JOIN repository r ON r.id = n.repo_id"
    " WHERE a.login_key = :owner AND n.name_key = :name ORDER BY former, id DESC"
)


class ReportedRepository(NamedTuple):
    """A repository as a payload describes it: its name, and the platform's id and time of creation.

    `former_name` is the name in lower case that it had before the event. Members that the payload
    lacks are None.
    """

    owner: str
    name: str
    foreign_id: int | None
    created_at: int | None
    former_name: str | None


class RepositoryIdentity(NamedTuple):
    """The id that the platform gave a repository, or None, and its names in lower case."""

    foreign_id: int | None
    names: frozenset[str]

    def fits(self, reported: ReportedRepository) -> bool:
        """Return whether a payload means this repository, by its id or a name it has or had."""
        known = self.foreign_id is not None and self.foreign_id == reported.foreign_id
        return known or reported.name.lower() in self.names


def identity(db: Connection, repo_id: int) -> RepositoryIdentity:
    """Return the identity of a repository. A deleted one has no id and no names."""
    names = db.column(
        "SELECT name_key FROM repository WHERE id = :id"
        " UNION ALL SELECT name_key FROM repository_name WHERE repo_id = :id",
        id=repo_id,
    )
    foreign_id = db.value("SELECT foreign_id FROM repository WHERE id = :id", id=repo_id)
    return RepositoryIdentity(foreign_id, frozenset(names))


def read(payload: dict[str, Any], full_name: str | None = None) -> ReportedRepository | None:
    """Return the repository of a payload, or None if it names none.

    A batch may have given its `full_name` beside the payload.
    """
    given = payload_reader.read_part(payload, "repository")
    own_name = str(given.get("full_name", ""))
    owner, slash, name = (own_name if full_name is None else full_name).partition("/")
    if not slash or "\0" in owner + name:
        return None
    # The payload may be about another repository.
    if full_name is not None and full_name.lower() != own_name.lower():
        return ReportedRepository(owner, name, None, None, None)
    found = payload_reader.read_fields(given, IDENTITY)
    ids = found.get("foreign_id"), found.get("created_at")
    return ReportedRepository(owner, name, *ids, _name_before(payload))


def _name_before(payload: dict[str, Any]) -> str | None:
    changes = payload_reader.read_part(payload, "changes")
    name = payload_reader.read_part(payload_reader.read_part(changes, "repository"), "name")
    before: str | None = payload_reader.read_field(name, "from", payload_reader.text(100))
    return None if before is None else before.lower()


def find(db: Connection, owner: str, name: str) -> Row | None:
    """Return the repository that has the name `owner/name` or, if there is none, had it."""
    found = repositories.find(db, owner, name)
    return found or repositories.by_former_name(db, owner, name)


def find_reported(db: Connection, payload: dict[str, Any], owner: str, name: str) -> Row | None:
    """Return the repository that a platform's payload calls `owner/name`, or None.

    The present name comes first, then the platform's id, and then a former name.
    """
    found = repositories.find(db, owner, name)
    if found is None:
        return find_renamed(db, read(payload, f"{owner}/{name}"))
    return find_successor(db, found, payload) or found


def find_successor(db: Connection, repo: Row, payload: dict[str, Any]) -> Row | None:
    """Return the repository that has taken this one's name, if a payload proves it by its id.

    Both can have got another name, and the events about that can come later. Without a proof, the
    platform may have made the repository of this name anew.
    """
    if not is_another(repo, payload):
        return None
    reported = read(payload, repo["full_name"])
    if reported is None or reported.foreign_id is None:
        return None
    rows = db.all(
        "SELECT id, name_key, foreign_id, created_at FROM repository"
        " WHERE owner_id = :owner_id AND foreign_id = :foreign_id ORDER BY id DESC",
        owner_id=repo["owner_id"],
        foreign_id=reported.foreign_id,
    )
    for row in rows:
        if row["created_at"] == reported.created_at or row["name_key"] == reported.former_name:
            return repositories.get(db, row["id"])
    return None


def is_another(repo: Row, payload: dict[str, Any]) -> bool:
    """Return whether a payload has the id of another repository of the platform than this one."""
    given = payload_reader.read_part(payload, "repository")
    foreign_id = payload_reader.read_field(given, "id", payload_reader.number)
    return None not in (foreign_id, repo["foreign_id"]) and foreign_id != repo["foreign_id"]


def find_renamed(db: Connection, reported: ReportedRepository | None) -> Row | None:
    """Return the repository that a payload calls by a name that no repository has, or None.

    A former name does not count if the platform's id is the id of another repository.
    """
    if reported is None:
        return None
    rows = db.all(
        CANDIDATES,
        owner=reported.owner.lower(),
        name=reported.name.lower(),
        foreign_id=reported.foreign_id,
    )
    for row in rows:
        unknown = row["former"] and None in (row["foreign_id"], reported.foreign_id)
        if unknown or _is_same(row, reported):
            return repositories.get(db, row["id"])
    return None


def _is_same(row: Row, reported: ReportedRepository) -> bool:
    if reported.foreign_id is None or row["foreign_id"] != reported.foreign_id:
        return False
    # Two platforms may use the same id.
    return reported.former_name == row["name_key"] or reported.created_at in (
        None,
        row["created_at"],
    )


def is_renamed(
    db: Connection, repo: Row, reported: ReportedRepository, reported_at: int | None
) -> bool:
    """Return whether a payload, with its time or None, has a newer name of the repository.

    An event about the renaming may be lost, or come again. So the later time decides. Without one,
    the id and the time of creation prove a name, unless the repository had it before: a late event
    must not bring back a former name.
    """
    if reported.owner.lower() != repo["owner"].lower() or reported.name == repo["name"]:
        return False
    row = db.one(
        "SELECT name_key, foreign_id, created_at, reported_at FROM repository WHERE id = :id",
        id=repo["id"],
    )
    if row is None or not _is_same(row, reported):
        return False
    at = reported_at or row["reported_at"] or 0
    kept = row["reported_at"] or at
    if at < kept or reported.former_name == row["name_key"]:
        return at >= kept
    if reported.created_at != row["created_at"]:
        return False
    former = db.column("SELECT name_key FROM repository_name WHERE repo_id = :id", id=repo["id"])
    known = {row["name_key"], *former}
    return at > kept or known.isdisjoint({reported.name.lower(), reported.former_name})
