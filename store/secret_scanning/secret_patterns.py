"""Patterns by which pushes with a secret in them are stopped: what an organization says of the
providers' and of its own, beside what its enterprise says.
"""

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
STALE = "The version given is not the current one: somebody else has changed it since."
MOST = 1_000
"""How many patterns of its own an organization may have."""


def list_all(db: Connection, organization_id: int) -> list[Row]:
    """The patterns in an organization: COLUMNS and `enterprise_setting`, which is None without an
    enterprise. The providers' first, each kind by its slug.
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


def version(db: Connection, organization_id: int) -> str | None:
    """The version of the settings; None where nobody has made any."""
    found: str | None = db.value(
        "SELECT version FROM secret_pattern_configuration WHERE organization_id = :id",
        id=organization_id,
    )
    return found


def update(
    db: Connection,
    organization_id: int,
    providers: Mapping[str, str],
    custom: Mapping[str, tuple[str | None, str]],
) -> str:
    """Set what is to be done about patterns; returns the version then, another one where that
    changes anything.

    `providers` is token type to setting, `custom` token type to a setting and the version of the
    pattern that it is meant for (None: whatever it is). Invalid for a pattern that is not there,
    Conflict for another version.
    """
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
    before = version(db, organization_id)
    return before if before and not changed else _renew(db, organization_id)


def check_version(db: Connection, organization_id: int, given: str | None) -> None:
    """Conflict where this is not the version of the settings (None: there are none), after which
    nobody else changes them in this transaction.
    """
    lock(db, organization_id)
    if given != version(db, organization_id):
        raise Conflict(STALE)


def lock(db: Connection, organization_id: int) -> None:
    """Wait for others who change an organization's patterns."""
    db.alone(f"secret patterns of {organization_id}")


def put(db: Connection, organization_id: int, row: Mapping[str, Any]) -> None:
    """Keep a pattern: COLUMNS."""
    values = {name: row[name] for name in COLUMNS.split(", ")}
    upsert.insert_or_replace(
        db,
        "secret_pattern",
        {"organization_id": organization_id, **values},
        "organization_id, token_type",
    )


def put_reported(db: Connection, organization_id: int, given: Mapping[str, Any]) -> bool:
    """Add a pattern, or change those of its columns that are given; whether that changes anything.

    Invalid for one that is not known and has no `display_name`, for too many, and for making a
    provider's pattern the organization's own.
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
    """Say what an enterprise does about a provider's pattern."""
    values = {"enterprise_id": enterprise_id, "token_type": token_type, "setting": setting}
    upsert.insert_or_replace(db, "enterprise_secret_pattern", values, "enterprise_id, token_type")


def enterprise_settings(db: Connection, enterprise_id: int) -> dict[str, str]:
    """Token type to setting, of what an enterprise has said."""
    return dict(
        db.tuples(
            "SELECT token_type, setting FROM enterprise_secret_pattern WHERE enterprise_id = :id",
            id=enterprise_id,
        )
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
    """What a pattern of this name is called in links."""
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
    """The part of the whole in per cent, rounded to the nearest; 0 of nothing."""
    return (200 * part + whole) // (2 * whole) if whole else 0


def total(rows: Iterable[Row]) -> int:
    """How many alerts there are of all these patterns."""
    return sum(row["alerts"] for row in rows)
