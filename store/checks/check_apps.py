"""The apps of checks: apps of this installation, and apps of platforms."""

from collections.abc import Iterable
from typing import Any

import orjson

from store.accounts import apps, placeholder_accounts
from store.accounts.apps import slug_of
from store.clock import LATEST
from store.database import payload_reader, upsert
from store.database.connection import Connection, Row, json_array
from store.delivery import sources

FOREIGN = "f.number, f.slug, f.name, f.owner_id, f.description, f.external_url, f.html_url"
TIMES = ("created_at", "updated_at")
FIELDS = {
    "name": payload_reader.text(255, 1),
    "description": payload_reader.nullable(payload_reader.text(1_000)),
    "external_url": payload_reader.nullable(payload_reader.text(2_048)),
    "html_url": payload_reader.nullable(payload_reader.text(2_048)),
    **dict.fromkeys(TIMES, payload_reader.timestamp),
}
MOST_PERMISSIONS, MOST_EVENTS = 100, 200


def put(db: Connection, repo_id: int, given: Any, event: Row) -> Row | None:
    """Create or update the platform's app in a payload of a repository.

    Return its `id` and `number`, or None. Each repository has its own description of an app. An
    event that no source signed names no app of this installation, which makes its checks itself,
    and does not describe an app with a suite that a source signed.
    """
    if not isinstance(given, dict):
        return None
    number, fields = (
        payload_reader.read_field(given, "id", payload_reader.number),
        payload_reader.read_fields(given, FIELDS),
    )
    named = payload_reader.read_field(given, "slug", payload_reader.text(255, 1)) or slug_of(
        fields.get("name", "")
    )
    if number is None or not fields:
        return None
    signed = sources.is_signed(event)
    if not signed and apps.get(db, number) is not None:
        return None
    fields |= _listed(given)
    owner_id = placeholder_accounts.get_or_create(db, given.get("owner"))
    if owner_id is not None:
        fields["owner_id"] = owner_id
    return _write(db, repo_id, number, named, fields, signed=signed)


def _listed(given: dict[str, Any]) -> Row:
    fields: Row = {}
    permissions, events = given.get("permissions"), given.get("events")
    if isinstance(permissions, dict):
        held = {
            name: level for name, level in permissions.items() if isinstance(level, str) and name
        }
        known = list(held.items())[:MOST_PERMISSIONS]
        fields["permissions"] = _json({_plain(name): _plain(level) for name, level in known})
    if isinstance(events, list):
        fields["events"] = _json(
            [_plain(name) for name in events[:MOST_EVENTS] if isinstance(name, str)]
        )
    return fields


def _plain(text: str) -> str:
    return text.replace("\0", "")[:100]


def _json(content: Any) -> str:
    return orjson.dumps(content).decode()


def _write(
    db: Connection, repo_id: int, number: int, named: str, fields: Row, *, signed: bool
) -> Row:
    before = _known(db, repo_id, number, named)
    fields = upsert.believed(db, fields, *TIMES)
    if before is None:
        values = {
            "repo_id": repo_id,
            "number": number,
            "slug": named,
            "name": named,
            "permissions": "{}",
            "events": "[]",
            "created_at": db.now,
            "updated_at": fields.get("created_at", db.now),
            **fields,
        }
        upsert.insert_if_absent(db, "foreign_app", values, "repo_id, number, slug")
        before = _known(db, repo_id, number, named)
        assert before is not None
    elif _may_describe(db, before, fields, signed=signed):
        upsert.update(db, "foreign_app", before, fields)
    return {"id": before["id"], "number": number}


def _may_describe(db: Connection, before: Row, fields: Row, *, signed: bool) -> bool:
    """Return whether the payload changes the app. The time of an unsigned one may be invented."""
    known = db.exists(
        "SELECT 1 FROM check_suite WHERE foreign_app_id = :app_id AND signed = 1",
        app_id=before["id"],
    )
    later = fields.get("updated_at", LATEST) >= before["updated_at"]
    return signed > known or (signed == known and later)


def _known(db: Connection, repo_id: int, number: int, named: str) -> Row | None:
    return db.one(
        f"SELECT f.id, {FOREIGN}, f.permissions, f.events, f.created_at, f.updated_at"
        " FROM foreign_app f"
        " WHERE f.repo_id = :repo_id AND f.number = :number AND f.slug = :slug",
        repo_id=repo_id,
        number=number,
        slug=named,
    )


def of(db: Connection, suite_ids: Iterable[int]) -> dict[int, Row]:
    """Return suite id to its app. Suites without one are left out.

    An app has `number`, `slug`, `name`, `owner_id`, `description`, `external_url`, `html_url` (None
    for an app of this installation), `permissions` (a dict), `events` (a list), `created_at` and
    `updated_at`.
    """
    wanted = f"{db.each('ids', wanted='integer')} AS w JOIN check_suite s ON s.id = w.wanted"
    rows = db.all(
        "SELECT s.id AS suite_id, p.id AS number, p.slug, p.name, p.owner_id, p.description,"
        " p.url AS external_url, NULL AS html_url, p.permissions, p.events, p.created_at,"
        f" p.updated_at FROM {wanted} JOIN app p ON p.id = s.app_id"
        f" UNION ALL SELECT s.id, {FOREIGN}, f.permissions, f.events, f.created_at, f.updated_at"
        f" FROM {wanted} JOIN foreign_app f ON f.id = s.foreign_app_id",
        ids=json_array(set(suite_ids)),
    )
    return {row["suite_id"]: _read(row) for row in rows}


def _read(row: Row) -> Row:
    row["permissions"] = orjson.loads(row["permissions"])
    row["events"] = orjson.loads(row["events"])
    return row
