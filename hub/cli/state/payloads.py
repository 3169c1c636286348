"""Entries as platforms' payloads, from which the store projects things."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from hub.cli.console.lookups import account
from hub.cli.state.base import StateEntry
from store import Connection

SAME: Mapping[str, str] = MappingProxyType({})


def payload_of(
    db: Connection,
    entry: StateEntry,
    *,
    but: Collection[str] = (),
    people: Collection[str] = (),
    names: Mapping[str, str] = SAME,
) -> dict[str, Any]:
    """Return the fields that the document has as in a platform's payload.

    The repository and `but` are left out. Fields in `people` have logins. `names` are the payload's
    names of fields, where they differ. Raises Missing for an unknown login.
    """
    found = entry.model_dump(mode="json", exclude_unset=True, exclude={"repository", *but})
    for field in people:
        given = found.pop(field, None)
        if isinstance(given, list):
            found[field] = [_person(db, login) for login in given]
        elif given is not None:
            found[field] = _person(db, given)
    return {names.get(field, field): value for field, value in found.items()}


def _person(db: Connection, login: str) -> dict[str, str]:
    return {"login": account(db, login)["login"]}
