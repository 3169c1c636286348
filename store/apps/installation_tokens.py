"""Tokens of installations, with which an app acts for itself on an account for an hour."""

from collections.abc import Collection, Mapping

from store.accounts import permissions, tokens
from store.accounts.permissions import METADATA
from store.database.connection import Connection, Row, json_array
from store.errors import Invalid

NOT_GRANTED = "The permissions requested are not granted to this installation."
NOT_ACCESSIBLE = (
    "There is at least one repository that does not exist or is not accessible to the parent"
    " installation."
)


def create(
    db: Connection,
    installation: Row,
    *,
    wanted: Mapping[str, str] | None = None,
    repositories: Collection[int] | None = None,
    note: str | None = None,
    expires_at: int | None = None,
    value: str | None = None,
) -> tuple[str, Row]:
    """Create a token. Return its value, which is not stored, and its row with its `permissions`.

    It has the installation's permissions, or only `wanted`, for its repositories, or only
    `repositories`. Raises Invalid for more than the installation has.
    """
    held = installation["permissions"]
    if wanted and permissions.exceeding(held, wanted):
        raise Invalid(NOT_GRANTED)
    granted = METADATA | dict(wanted) if wanted else held
    value, row = tokens.create(
        db,
        installation["bot_id"],
        kind="installation",
        permissions=granted,
        note=note,
        expires_at=expires_at,
        value=value,
        app_id=installation["app_id"],
        target_id=installation["account_id"],
        repositories=repositories,
        installation_id=installation["id"],
    )
    return value, row | {"permissions": granted}


def named(db: Connection, installation: Row, names: Collection[str]) -> set[int]:
    """Return the ids of the installation's repositories with these names.

    Raises Invalid if the installation does not cover one of them.
    """
    wanted = {name.lower() for name in names}
    source = f"{db.each('wanted', wanted='text')} AS w JOIN repository r ON r.name_key = w.wanted"
    return _covered(db, installation, source, wanted)


def numbered(db: Connection, installation: Row, ids: Collection[int]) -> set[int]:
    """Return these ids. Raises Invalid if the installation does not cover one of them."""
    source = f"{db.each('wanted', wanted='integer')} AS w JOIN repository r ON r.id = w.wanted"
    return _covered(db, installation, source, set(ids))


def _covered(
    db: Connection, installation: Row, source: str, wanted: set[str] | set[int]
) -> set[int]:
    chosen = (
        ""
        if installation["every_repository"]
        else (
            " AND EXISTS (SELECT 1 FROM installation_repository c"
            " WHERE c.installation_id = :id AND c.repo_id = r.id)"
        )
    )
    given = {} if installation["every_repository"] else {"id": installation["id"]}
    found = db.column(
        f"SELECT r.id FROM {source} WHERE r.owner_id = :account_id{chosen}",
        wanted=json_array(wanted),
        account_id=installation["account_id"],
        **given,
    )
    if len(found) < len(wanted):
        raise Invalid(NOT_ACCESSIBLE)
    return set(found)
