"""The conversion of entries to platforms' payloads, which the store projects into its tables."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from hub.cli.console.lookups import account
from hub.cli.state.base import StateEntry
from store import Connection, Row
from store.repositories.author_association import association_of

SAME: Mapping[str, str] = MappingProxyType({})


def payload_of(
    db: Connection,
    entry: StateEntry,
    *,
    but: Collection[str] = (),
    people: Collection[str] = (),
    names: Mapping[str, str] = SAME,
) -> dict[str, Any]:
    """Return the fields that the document has, in the form of a platform's payload.

    `repository` and the fields in `but` are left out. The logins in the fields of `people` become
    objects with a `login`. `names` maps fields to the payload's names, where they differ. Raises
    Missing for an unknown login.
    """
    found = entry.model_dump(mode="json", exclude_unset=True, exclude={"repository", *but})
    for field in people:
        given = found.pop(field, None)
        if isinstance(given, list):
            found[field] = [_person(db, login) for login in given]
        elif given is not None:
            found[field] = _person(db, given)
    return {names.get(field, field): value for field, value in found.items()}


def authored_payload(
    db: Connection, repo: Row, payload: dict[str, Any], before: object
) -> dict[str, Any]:
    """Return the payload. If the thing is new, its author gets the relation to the repository.

    An operation stores this relation too, and later changes of the author's roles do not alter it.
    """
    if before is not None or "user" not in payload:
        return payload
    author = account(db, payload["user"]["login"])
    return payload | {"author_association": association_of(db, repo, author["id"])}


def _person(db: Connection, login: str) -> dict[str, str]:
    return {"login": account(db, login)["login"]}
