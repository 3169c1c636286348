"""Variables of an organization for agents: in all, in private or in selected repositories."""

from collections.abc import Collection
from typing import Any

from store.agents import variable_names
from store.database import paging, row_lookup, upsert
from store.database.connection import Connection, Row
from store.errors import Conflict, Invalid, existing

COLUMNS = "id, organization_id, name, value, visibility, created_at, updated_at"
VISIBILITIES = ("all", "private", "selected")
RESOURCE = "AgentVariable"
SELECTED = "selected_repository_ids"
"""The API's field with the selected repositories, for errors."""
MOST = 1000
"""The limit of variables of an organization, and of selected repositories of a variable."""
MOST_BYTES = 48 * 1024
"""The limit of a value, in bytes of UTF-8."""


def create(
    db: Connection,
    organization_id: int,
    name: str,
    value: str,
    visibility: str,
    selected: Collection[int] = (),
) -> Row:
    """Create a variable. Raises Conflict if the name exists.

    Raises Invalid for a bad name or value, for selected repositories with another visibility, or if
    a limit is exceeded.
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
    """Change a variable's name, value, visibility or selection. Return whether any changed.

    Raises Conflict and Invalid as `create` does, and Missing if the variable is gone.
    """
    row = locked(db, row)
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
    """Delete a variable. Raises Missing if it is gone."""
    lock(db, row["organization_id"])
    row_lookup.delete(db, "agent_variable", row, "variable")


def get(db: Connection, organization_id: int, name: str) -> Row | None:
    """Return the variable with this name, in any case (COLUMNS), or None."""
    return db.find(
        f"SELECT {COLUMNS} FROM agent_variable", organization_id=organization_id, name=name.upper()
    )


def page(db: Connection, organization_id: int, *, limit: int, offset: int) -> list[Row]:
    """Return a page of the organization's variables, by name."""
    return paging.page(
        db,
        f"SELECT {COLUMNS} FROM agent_variable WHERE organization_id = :organization_id"
        " ORDER BY name",
        limit,
        offset,
        organization_id=organization_id,
    )


def count(db: Connection, organization_id: int) -> int:
    return db.number(
        "SELECT count(*) FROM agent_variable WHERE organization_id = :organization_id",
        organization_id=organization_id,
    )


def lock(db: Connection, organization_id: int) -> None:
    """Lock the organization's variables until the transaction ends.

    Without the lock, two transactions that count first would both pass the limit, and a variable
    could be changed while it is deleted.
    """
    db.alone(f"agent variables of {organization_id}")


def locked(db: Connection, row: Row) -> Row:
    """Lock the organization's variables as `lock` does. Return the variable as it is then.

    Raises Missing if the variable is gone.
    """
    lock(db, row["organization_id"])
    return existing(
        db.one(f"SELECT {COLUMNS} FROM agent_variable WHERE id = :id", id=row["id"]), "variable"
    )


def find(field: str, code: str = "invalid") -> dict[str, Any]:
    """Return the position of an error in a request, for Invalid and Conflict."""
    return {"field": field, "code": code, "resource": RESOURCE}


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
