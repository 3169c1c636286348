"""Patterns that block pushes with secrets, and their settings.

An organization has settings for providers' and for its own patterns, beside its enterprise's
settings.
"""

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from store.database import upsert
from store.database.connection import Connection, Row
from store.enterprises import enterprises
from store.errors import Conflict, Invalid
from store.secret_scanning import secret_catalog

COLUMNS = (
    "token_type, custom, slug, display_name, default_setting, setting, version, alerts,"
    " false_positives, blocks, bypasses"
)
COUNTS = ("alerts", "false_positives", "blocks", "bypasses")
NOT_SET, DISABLED = "not-set", "disabled"
RESOURCE = "SecretScanningPatternConfiguration"
STALE = "The version given is not the current one: it has been changed meanwhile."
MOST = 1_000
"""The limit of an organization's own patterns."""


def list_all(db: Connection, organization_id: int) -> list[Row]:
    """Return the patterns of an organization, providers' patterns first, each kind by slug.

    Each has COLUMNS and `enterprise_setting`, which is None without an enterprise.
    """
    rows = db.all(
        f"SELECT {COLUMNS} FROM secret_pattern WHERE organization_id = :organization_id",
        organization_id=organization_id,
    )
    found = {token_type: _known(one) for token_type, one in secret_catalog.list_all().items()}
    found |= {row["token_type"]: row for row in rows}
    above = _of_enterprise(db, organization_id)
    for row in found.values():
        unset = None if above is None else above.get(row["token_type"], NOT_SET)
        row["enterprise_setting"] = None if row["custom"] else unset
    return sorted(found.values(), key=lambda row: (row["custom"], row["slug"]))


def version(db: Connection, organization_id: int) -> str:
    """Return the version of the settings. Settings without a change have one too."""
    found: str | None = db.value(
        "SELECT version FROM secret_pattern_configuration WHERE organization_id = :id",
        id=organization_id,
    )
    return found or hashlib.sha256(f"secret patterns of {organization_id}".encode()).hexdigest()


def update(
    db: Connection,
    organization_id: int,
    providers: Mapping[str, str],
    custom: Mapping[str, tuple[str | None, str]],
    expected: str | None = None,
) -> tuple[str, bool]:
    """Change the settings of patterns. Return the settings' version, and whether it is new.

    `providers` is token type to setting. `custom` is token type to setting and the expected version
    of the pattern (None: any). `expected` is the version of the settings before (None: any). Raises
    Invalid if a pattern does not exist, Conflict for another version.
    """
    # The rows are written whole, with the counts that other transactions change.
    lock(db, organization_id)
    before = version(db, organization_id)
    if expected not in (None, before):
        raise Conflict(STALE)
    rows = {(row["custom"], row["token_type"]): row for row in list_all(db, organization_id)}
    changed = [
        _found(rows, 0, token_type) | {"setting": setting}
        for token_type, setting in providers.items()
    ]
    for token_type, (meant, setting) in custom.items():
        row = _found(rows, 1, token_type)
        if meant not in (None, row["version"]):
            raise Conflict(STALE)
        changed.append(row | {"setting": setting})
    changed = [row for row in changed if row != rows[row["custom"], row["token_type"]]]
    for row in changed:
        put(db, organization_id, row | ({"version": _new_version()} if row["custom"] else {}))
    return (_renew(db, organization_id), True) if changed else (before, False)


def lock(db: Connection, organization_id: int) -> None:
    """Lock an organization's patterns until the transaction ends."""
    db.alone(f"secret patterns of {organization_id}")


def put(db: Connection, organization_id: int, row: Mapping[str, Any]) -> None:
    """Store a pattern (COLUMNS)."""
    values = {name: row[name] for name in COLUMNS.split(", ")}
    upsert.insert_or_replace(
        db,
        "secret_pattern",
        {"organization_id": organization_id, **values},
        "organization_id, token_type",
    )


def put_reported(db: Connection, organization_id: int, given: Mapping[str, Any]) -> bool:
    """Add a pattern, or change the given columns. Return whether that changes anything.

    Raises Invalid if an unknown pattern has no `display_name`, if there are too many, or if a
    provider's pattern would become the organization's own.
    """
    lock(db, organization_id)
    known = {row["token_type"]: row for row in list_all(db, organization_id)}
    before = known.get(given["token_type"])
    after = {**(before or _new(given)), **given}
    if after == before:
        return False
    if before is not None and after["custom"] != before["custom"]:
        raise Invalid(f"{given['token_type']!r} is a pattern of another kind", field="custom")
    own = [row for row in known.values() if row["token_type"] not in secret_catalog.list_all()]
    if before is None and len(own) >= MOST:
        raise Invalid(f"an organization has at most {MOST} patterns of its own")
    if after["custom"] and (before is None or given.keys() - {"token_type", *COUNTS}):
        after["version"] = _new_version()
    put(db, organization_id, after)
    return True


def put_enterprise_setting(
    db: Connection, enterprise_id: int, token_type: str, setting: str
) -> None:
    """Set an enterprise's setting for a provider's pattern."""
    values = {"enterprise_id": enterprise_id, "token_type": token_type, "setting": setting}
    upsert.insert_or_replace(db, "enterprise_secret_pattern", values, "enterprise_id, token_type")


def enterprise_settings(db: Connection, enterprise_id: int) -> dict[str, str]:
    """Return token type to setting, for the settings of an enterprise."""
    return db.mapping(
        "SELECT token_type, setting FROM enterprise_secret_pattern WHERE enterprise_id = :id",
        id=enterprise_id,
    )


def _of_enterprise(db: Connection, organization_id: int) -> dict[str, str] | None:
    enterprise = enterprises.of_organization(db, organization_id)
    return None if enterprise is None else enterprise_settings(db, enterprise["id"])


def _known(one: secret_catalog.CatalogPattern) -> Row:
    return {
        "token_type": one.token_type,
        "custom": 0,
        "slug": one.slug,
        "display_name": one.display_name,
        "default_setting": one.default_setting,
        "setting": NOT_SET,
        "version": None,
        **dict.fromkeys(COUNTS, 0),
    }


def _new(given: Mapping[str, Any]) -> Row:
    name = given.get("display_name")
    if name is None:
        raise Invalid(f"the pattern {given['token_type']!r} is new and needs a display_name")
    custom = given.get("custom", 0)
    pattern = secret_catalog.CatalogPattern(given["token_type"], _slug_of(name), name, DISABLED)
    return _known(pattern) | {"custom": custom, "setting": DISABLED if custom else NOT_SET}


def _slug_of(name: str) -> str:
    """Return the form of a pattern's name in links."""
    return "-".join(name.lower().split())


def _found(rows: Mapping[tuple[int, str], Row], custom: int, token_type: str) -> Row:
    row = rows.get((custom, token_type))
    if row is None:
        kind = "custom" if custom else "provider"
        message = f"there is no {kind} pattern {token_type[:100]!r}"
        field = f"{kind}_pattern_settings"
        raise Invalid(message, field=field, code="missing", resource=RESOURCE)
    return row


def _renew(db: Connection, organization_id: int) -> str:
    made = _new_version()
    values = {"organization_id": organization_id, "version": made, "updated_at": db.now}
    upsert.insert_or_replace(db, "secret_pattern_configuration", values, "organization_id")
    return made


def _new_version() -> str:
    return secrets.token_urlsafe(20)


def percentage(part: int, whole: int) -> int:
    """Return a part of a whole in per cent, rounded to the nearest; 0 if the whole is 0."""
    return (200 * part + whole) // (2 * whole) if whole else 0


def total(rows: Iterable[Row]) -> int:
    return sum(row["alerts"] for row in rows)
