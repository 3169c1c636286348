"""Placeholder accounts: accounts known only from events. They never get rights by that.

Events never change an account that somebody created. They only add missing fields to placeholders.
"""

import re
from typing import Any

from store.accounts import accounts
from store.database import payload_reader, upsert
from store.database.connection import Connection, Row

# Wider than for accounts made here: platforms have old logins, and logins of bots.
LOGIN = re.compile(r"[A-Za-z0-9_.-]{1,100}(\[bot\])?")
ABOUT: payload_reader.Readers = {
    "name": payload_reader.nullable(payload_reader.text(255)),
    "description": payload_reader.nullable(payload_reader.text(1_000)),
    "foreign_id": ("id", payload_reader.number),
}
KINDS = ("User", "Organization", "Bot")


def get_or_create(db: Connection, given: Any, *, organization: bool = False) -> int | None:
    """Return the id of the account in a platform's user or organization object.

    If the account is unknown, create a placeholder. Return None if the object is not valid.
    """
    login = (
        payload_reader.read_field(given, "login", payload_reader.text(200))
        if isinstance(given, dict)
        else None
    )
    if login is None or not LOGIN.fullmatch(login):
        return None
    row = _known(db, login)
    if row is None:
        return _add(db, login, given, organization)
    if row["heard_of"]:
        fields = payload_reader.read_fields(given, ABOUT)
        upsert.update(db, "account", row, {key: fields[key] for key in fields if row[key] is None})
    found: int = row["id"]
    return found


def _known(db: Connection, login: str) -> Row | None:
    return db.one(
        "SELECT id, heard_of, name, description, foreign_id FROM account WHERE login_key = :key",
        key=login.lower(),
    )


def _add(db: Connection, login: str, given: dict[str, Any], organization: bool) -> int:
    kind = payload_reader.read_field(given, "type", payload_reader.one_of(*KINDS))
    values = {
        "login": login,
        "login_key": login.lower(),
        "kind": "Organization" if organization else kind or "User",
        "heard_of": 1,
        "created_at": db.now,
        "updated_at": db.now,
        **payload_reader.read_fields(given, ABOUT),
    }
    made = upsert.insert_if_absent(db, "account", values, "login_key")
    if made is None:
        # Another process has created it meanwhile.
        row = accounts.by_login(db, login)
        assert row is not None
        made = row["id"]
    return made


def get_or_create_many(db: Connection, given: dict[str, Any], name: str) -> list[int] | None:
    """Return the accounts of an array of user objects, or None if there is no array."""
    found = payload_reader.read_object_list(given, name)
    if found is None:
        return None
    ids = [get_or_create(db, each) for each in found]
    return [each for each in ids if each is not None]
