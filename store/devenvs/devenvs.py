"""Development environments, and the machine types that their repositories allow."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from store.database import upsert
from store.database.connection import Connection, Row, json_array
from store.devenvs import devenv_machines
from store.devenvs.devenv_machines import Machine
from store.repositories import refs

COLUMNS = "id, name, account_id, repo_id, ref, machine, location"
EVERY_REF = ""
MOST_NAME = 255


@dataclass(frozen=True, slots=True)
class Restriction:
    """Requirements for machines, in cores and bytes. `machines` are names, or None for any."""

    cpus: int = 0
    memory_in_bytes: int = 0
    storage_in_bytes: int = 0
    machines: tuple[str, ...] | None = None

    def allows(self, machine: Machine) -> bool:
        """Return whether a machine type meets the requirements."""
        return (
            machine.cpus >= self.cpus
            and machine.memory_in_bytes >= self.memory_in_bytes
            and machine.storage_in_bytes >= self.storage_in_bytes
            and (self.machines is None or machine.name in self.machines)
        )


def get(db: Connection, account_id: int, name: str) -> Row | None:
    """Return the account's environment with this name (COLUMNS), or None."""
    return db.find(f"SELECT {COLUMNS} FROM devenv", name=name, account_id=account_id)


def by_name(db: Connection, name: str) -> Row | None:
    """Return the environment with this name, of any account, or None."""
    return db.one(f"SELECT {COLUMNS} FROM devenv WHERE name = :name", name=name)


def put(db: Connection, name: str, values: dict[str, Any]) -> bool:
    """Create or change an environment. Return whether that changes anything.

    `values` has all other columns. For an existing environment, some of them are enough.
    """
    row = by_name(db, name)
    if row is not None:
        return upsert.update(db, "devenv", row, values)
    return upsert.insert_if_absent(db, "devenv", {"name": name, **values}, "name") is not None


def offered(db: Connection, repo: Row, ref: str, location: str) -> list[Machine]:
    """Return the machine types for a new environment of a repository at a branch or a commit."""
    asked = restrictions(db, repo["id"], ref)
    return [
        one
        for one in devenv_machines.list_all(db)
        if one.is_at(location) and all(each.allows(one) for each in asked)
    ]


def reachable(db: Connection, devenv: Row, repo: Row) -> list[Machine]:
    """Return the machine types to which an environment can change.

    They have the same operating system and at least as much storage.
    """
    before = devenv_machines.get(db, devenv["machine"])
    return [
        one
        for one in offered(db, repo, devenv["ref"], devenv["location"])
        if before is None or _follows(before, one)
    ]


def _follows(before: Machine, after: Machine) -> bool:
    return (
        after.name != before.name
        and after.operating_system == before.operating_system
        and after.storage_in_bytes >= before.storage_in_bytes
    )


def restrictions(db: Connection, repo_id: int, ref: str) -> list[Restriction]:
    """Return a repository's requirements at a branch or a commit, and for all of them."""
    rows = db.tuples(
        "SELECT cpus, memory_in_bytes, storage_in_bytes, machines FROM devenv_restriction"
        f" WHERE repo_id = :repo_id AND ref {db.among('refs', 'text')}",
        repo_id=repo_id,
        refs=json_array([EVERY_REF, *_names(db, repo_id, ref)]),
    )
    return [_restriction(*row) for row in rows]


def restriction(db: Connection, repo_id: int, ref: str) -> Restriction:
    """Return a repository's requirements for exactly this branch or commit, or for EVERY_REF."""
    rows = db.tuples(
        "SELECT cpus, memory_in_bytes, storage_in_bytes, machines FROM devenv_restriction"
        " WHERE repo_id = :repo_id AND ref = :ref",
        repo_id=repo_id,
        ref=_short(ref),
    )
    return _restriction(*rows[0]) if rows else Restriction()


def _restriction(cpus: int, memory: int, storage: int, names: str | None) -> Restriction:
    machines = None if names is None else tuple(orjson.loads(names))
    return Restriction(cpus, memory, storage, machines)


def restrict(db: Connection, repo_id: int, ref: str, wanted: Restriction) -> None:
    """Set a repository's requirements at a branch or a commit, or at EVERY_REF."""
    names = None if wanted.machines is None else orjson.dumps(wanted.machines).decode()
    values = {
        "repo_id": repo_id,
        "ref": _short(ref),
        "cpus": wanted.cpus,
        "memory_in_bytes": wanted.memory_in_bytes,
        "storage_in_bytes": wanted.storage_in_bytes,
        "machines": names,
    }
    upsert.insert_or_replace(db, "devenv_restriction", values, "repo_id, ref")


def prebuilt(db: Connection, repo_id: int, ref: str) -> dict[str, str]:
    """Return machine type to the state of its prebuild (`ready`, `in_progress` or `none`).

    Prebuilds of the branch or the commit count.
    """
    return db.mapping(
        "SELECT machine, availability FROM devenv_prebuild WHERE repo_id = :repo_id"
        f" AND ref {db.among('refs', 'text')}"
        # `ready` takes precedence over `in_progress`, and that over `none`.
        " ORDER BY CASE availability WHEN 'ready' THEN 2 WHEN 'in_progress' THEN 1 ELSE 0 END",
        repo_id=repo_id,
        refs=json_array(_names(db, repo_id, ref)),
    )


def availability_of(db: Connection, repo_id: int, ref: str, machine: str) -> str | None:
    """Return the state of the prebuild for exactly this branch or commit, or None."""
    found: str | None = db.value(
        "SELECT availability FROM devenv_prebuild"
        " WHERE repo_id = :repo_id AND ref = :ref AND machine = :machine",
        repo_id=repo_id,
        ref=_short(ref),
        machine=machine,
    )
    return found


def prebuild(db: Connection, repo_id: int, ref: str, machine: str, availability: str) -> None:
    values = {"ref": _short(ref), "machine": machine, "availability": availability}
    upsert.insert_or_replace(
        db, "devenv_prebuild", {"repo_id": repo_id, **values}, "repo_id, ref, machine"
    )


def policy(db: Connection, repo_id: int) -> list[Row]:
    """Return all prebuilds and requirements of a repository."""
    return [
        row
        for table, order in (("devenv_prebuild", "ref, machine"), ("devenv_restriction", "ref"))
        for row in db.all(
            f"SELECT * FROM {table} WHERE repo_id = :repo_id ORDER BY {order}", repo_id=repo_id
        )
    ]


def _short(ref: str) -> str:
    return ref.removeprefix(refs.BRANCHES)


def _names(db: Connection, repo_id: int, ref: str) -> Iterable[str]:
    """Return the names under which a branch or commit may be stored.

    A branch also stands for its commit, and a commit for the branches at it.
    """
    short = _short(ref)
    sha = refs.resolve(db, repo_id, ref)
    at = refs.branches_at(db, repo_id, ref) if sha == ref else ()
    return {short, sha or short, *at}
