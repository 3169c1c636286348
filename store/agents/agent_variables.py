"""Variables that an organization gives to agents: to all of its repositories, its private ones, or
those that were selected.
"""

from collections.abc import Collection
from typing import Any

from store.agents import variable_names
from store.database import upsert
from store.database.connection import Connection, Row
from store.errors import Conflict, Invalid, Missing

COLUMNS = "id, organization_id, name, value, visibility, created_at, updated_at"
VISIBILITIES = ("all", "private", "selected")
RESOURCE = "AgentVariable"
SELECTED = "selected_repository_ids"
"""What the API calls the selection."""
MOST = 1000
"""How many an organization may have, and how many repositories may be selected for one."""
MOST_BYTES = 48 * 1024
"""Of a value, in UTF-8."""


def create(
    db: Connection,
    organization_id: int,
    name: str,
    value: str,
    visibility: str,
    selected: Collection[int] = (),
) -> Row:
    """Make a variable. Conflict where there is one of this name, Invalid for what cannot be: a
    name, a value, repositories that are selected where none are asked for, too many of anything.
    """
    lock(db, organization_id)
    fields = _checked(name=name, value=value, visibility=visibility)
    _check_selection(visibility, selected)
    if count(db, organization_id) >= MOST:
        raise Invalid(f"an organization has at most {MOST} variables", **find("name"))
    moments = {"created_at": db.now, "updated_at": db.now}
    values = {"organization_id": organization_id, **fields, **moments}
    made = upsert.insert_if_absent(db, "agent_variable", values, "organization_id, name")
    if made is None:
        raise _taken(fields["name"])
    _select(db, made, selected)
    return {"id": made, **values}


def update(
    db: Connection, row: Row, *, selected: Collection[int] | None = None, **changes: str
) -> bool:
    """Change name, value or visibility, or which repositories are selected; whether any of it is
    another now. Conflict and Invalid as for `create`, Missing where it is gone.
    """
    lock(db, row["organization_id"])
    row = _again(db, row["id"])
    fields = _checked(**changes)
    after = {**row, **fields}
    visibility = after["visibility"]
    _check_selection(visibility, selected or ())
    _check_free(db, row, after["name"])
    changed = upsert.update(db, "agent_variable", row, fields)
    if visibility != "selected":
        selected = ()
    if selected is not None:
        changed = _select(db, row["id"], selected) or changed
    if changed:
        upsert.update(db, "agent_variable", row, {"updated_at": db.now})
    return changed


def delete(db: Connection, row: Row) -> None:
    """Take a variable away."""
    db.execute("DELETE FROM agent_variable WHERE id = :id", id=row["id"])


def get(db: Connection, organization_id: int, name: str) -> Row | None:
    """The variable of this name, whatever its case: COLUMNS."""
    return db.one(
        f"SELECT {COLUMNS} FROM agent_variable"
        " WHERE organization_id = :organization_id AND name = :name",
        organization_id=organization_id,
        name=name.upper(),
    )


def page(db: Connection, organization_id: int, *, limit: int, offset: int) -> list[Row]:
    """The organization's variables, by name."""
    return db.all(
        f"SELECT {COLUMNS} FROM agent_variable WHERE organization_id = :organization_id"
        " ORDER BY name LIMIT :limit OFFSET :offset",
        organization_id=organization_id,
        limit=limit,
        offset=offset,
    )


def count(db: Connection, organization_id: int) -> int:
    """How many it has."""
    found: int = db.value(
        "SELECT count(*) FROM agent_variable WHERE organization_id = :organization_id",
        organization_id=organization_id,
    )
    return found


def lock(db: Connection, organization_id: int) -> None:
    """Wait for others who change these variables: two that count first would both find room."""
    db.alone(f"agent variables of {organization_id}")


def find(field: str, code: str = "invalid") -> dict[str, Any]:
    """Where in the API something is wrong."""
    return {"field": field, "code": code, "resource": RESOURCE}


def _again(db: Connection, variable_id: int) -> Row:
    row = db.one(f"SELECT {COLUMNS} FROM agent_variable WHERE id = :id", id=variable_id)
    if row is None:
        raise Missing("variable")
    return row


def _checked(**given: str) -> dict[str, str]:
    if "name" in given:
        given["name"] = variable_names.checked(given["name"], RESOURCE)
    if len(given.get("value", "").encode()) > MOST_BYTES:
        raise Invalid(f"a value has at most {MOST_BYTES} bytes", **find("value"))
    if given.get("visibility", "all") not in VISIBILITIES:
        words = ", ".join(VISIBILITIES)
        raise Invalid(f"{given['visibility']!r} is none of {words}", **find("visibility"))
    return given


def _check_selection(visibility: str, selected: Collection[int]) -> None:
    if selected and visibility != "selected":
        message = "repositories are selected only where the visibility is `selected`"
        raise Invalid(message, **find(SELECTED))
    if len(selected) > MOST:
        raise Invalid(f"at most {MOST} repositories can be selected", **find(SELECTED))


def _check_free(db: Connection, row: Row, name: str) -> None:
    if name != row["name"] and get(db, row["organization_id"], name) is not None:
        raise _taken(name)


def _select(db: Connection, variable_id: int, wanted: Collection[int]) -> bool:
    columns = ("variable_id", "repo_id")
    return upsert.set_related(db, "agent_variable_repository", columns, variable_id, wanted)


def _taken(name: str) -> Conflict:
    return Conflict(f"Already exists - the organization has a variable {name}.")
