"""Search in the audit log by actor, action, target and time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from store.audit.audit_log import CONTENT
from store.clock import SECOND
from store.database.connection import Connection, Row, json_array
from store.database.list_order import MOST, Matches, counted
from store.database.patterns import containing, containing_plain
from store.errors import NotUtf8

Column = Literal["actor", "action"]
# The limits of names that are examined, and that are found, for a part of a name.
MOST_EXAMINED, MOST_NAMES = 5_000, 100
# No index has the parts of targets, so a search for one examines the newest entries alone.
MOST_SEARCHED = 100_000
# No later time can be shown, in microseconds.
YEAR_9999 = 253_370_764_800 * SECOND
TEXTS = frozenset(
    ("actor", "via", "address", "action", "target", "outcome", "request_id", "details")
)
_AS_BYTES = ", ".join(
    f"CAST({name} AS BLOB) AS {name}" if name in TEXTS else name for name in CONTENT.split(", ")
)
_LAST = "SELECT id FROM audit WHERE at < :until ORDER BY at DESC, id DESC LIMIT 1"
_BOUNDS = {
    "before": "x.id < :before",
    "since": "x.id >= (SELECT id FROM audit WHERE at >= :since ORDER BY at, id LIMIT 1)",
    "until": f"x.id <= ({_LAST})",
}


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """A filter for entries: by these actors, of these actions, in a period.

    `since` is inclusive and `until` exclusive, in microseconds. `before` keeps out entries from
    this number on. `target` is a part of the target, in any case, where each target ends with a
    slash: then only the newest MOST_SEARCHED of all these entries are examined. None means any.
    """

    actors: Sequence[str] | None = None
    actions: Sequence[str] | None = None
    since: int | None = None
    until: int | None = None
    before: int | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True)
class NameMatches:
    """The actors or the actions that a text stands for. With `more`, there may be others.

    None means any.
    """

    names: Sequence[str] | None = None
    more: bool = False


def find_names(db: Connection, column: Column, text: str) -> NameMatches:
    """Return the actors or actions with exactly this name, or else those that contain the text.

    An empty text stands for any.
    """
    if not text:
        return NameMatches()
    if db.exists(f"SELECT 1 FROM audit WHERE {column} = :text LIMIT 1", text=text):
        return NameMatches([text])
    # Each name takes one step in the index, however many entries the name has.
    found = db.tuples(
        f"WITH RECURSIVE n (name, step) AS (SELECT min({column}), 1 FROM audit UNION ALL"
        f" SELECT (SELECT min(x.{column}) FROM audit x WHERE x.{column} > n.name), n.step + 1"
        " FROM n WHERE n.name IS NOT NULL AND n.step < :examined)"
        " SELECT name, step, found FROM (SELECT name, step,"
        " CASE WHEN lower(name) LIKE :part ESCAPE '!' THEN 1 ELSE 0 END AS found"
        " FROM n WHERE name IS NOT NULL) AS f WHERE found = 1 OR step = :examined LIMIT :most",
        part=containing(text),
        examined=MOST_EXAMINED,
        most=MOST_NAMES + 1,
    )
    names = [name for name, _, matches in found if matches]
    more = len(names) > MOST_NAMES or any(step == MOST_EXAMINED for _, step, _ in found)
    return NameMatches(names[:MOST_NAMES], more)


def find(
    db: Connection, actor: str, action: str, limits: AuditFilter
) -> tuple[AuditFilter, list[str]]:
    """Return a filter by names or parts of names, within the limits of another.

    Also return the texts for which it may leave out names.
    """
    actors, actions = find_names(db, "actor", actor), find_names(db, "action", action)
    partial = [text for text, found in ((actor, actors), (action, actions)) if found.more]
    wanted = replace(limits, actors=actors.names, actions=actions.names)
    return wanted, partial


def searched_from(db: Connection, wanted: AuditFilter) -> int | None:
    """Return the first entry that a search for a target examines, if earlier ones follow.

    It is the `before` with which to search them.
    """
    if wanted.target is None:
        return None
    first = _first_examined(db, wanted)
    # Somebody may have removed the entry just before from the database.
    at = db.value("SELECT at FROM audit WHERE id < :first ORDER BY id DESC LIMIT 1", first=first)
    return first if at is not None and at >= (wanted.since or 0) else None


def _first_examined(db: Connection, wanted: AuditFilter) -> int:
    given = {} if wanted.until is None else {"until": wanted.until}
    newest = db.value(_LAST if given else "SELECT max(id) FROM audit", **given) or 0
    return int(min(newest + 1, wanted.before or newest + 1)) - MOST_SEARCHED


def page(db: Connection, wanted: AuditFilter | None = None, *, limit: int) -> list[Row]:
    """Return the newest matching entries. `details` is an object.

    Values of a forged entry that cannot be read are replaced, so that it hides no other entry.
    """
    source, given = _source(db, wanted or AuditFilter(), newest=True)
    where = f"FROM audit WHERE id IN ({source}) ORDER BY id DESC LIMIT :limit"
    try:
        rows = db.all(f"SELECT {CONTENT} {where}", limit=limit, **given)
    except NotUtf8:
        rows = db.all(f"SELECT {_AS_BYTES} {where}", limit=limit, **given)
    return [_readable(row) for row in rows]


def _readable(row: Row) -> Row:
    """Return an entry with values of the right types. SQLite stores forged ones of any type."""
    for name in TEXTS:
        row[name] = _text(row[name])
    row["at"] = row["at"] if isinstance(row["at"], int) and 0 <= row["at"] < YEAR_9999 else 0
    row["details"] = _details(row["details"])
    return row


def _details(text: str) -> dict[str, Any]:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = text
    if not isinstance(found, dict) or not isinstance(found.get("fields", []), list):
        return {"details": text}
    return found


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if value is None else str(value)


def count(db: Connection, wanted: AuditFilter) -> Matches:
    """Return the number of matching entries, up to MOST."""
    # Without an order, it reads no more entries than it counts.
    source, given = _source(db, replace(wanted, before=None), newest=False)
    return counted(db.value(f"SELECT count(*) FROM ({source}) AS c", limit=MOST + 1, **given))


def _source(db: Connection, wanted: AuditFilter, *, newest: bool) -> tuple[str, dict[str, Any]]:
    """Return SQL for the ids of matching entries, up to `limit`: of the newest, or of any."""
    given: dict[str, Any] = {
        name: value for name in _BOUNDS if (value := getattr(wanted, name)) is not None
    }
    where = [_BOUNDS[name] for name in given]
    if wanted.target is not None:
        given |= {"target": containing_plain(wanted.target), "first": _first_examined(db, wanted)}
        where.append("x.id >= :first AND lower(x.target || '/') LIKE :target ESCAPE '!'")
    chosen = {"actor": wanted.actors, "action": wanted.actions}
    names = {column: json_array(found) for column, found in chosen.items() if found is not None}
    where += [f"x.{column} = w.{column}" for column in names]
    matching = f"FROM audit x WHERE {' AND '.join(where) or '1 = 1'}"
    order = "ORDER BY {}.id DESC LIMIT :limit" if newest else "LIMIT :limit"
    each = f"SELECT x.id {matching} {order.format('x')}"
    if not names:
        return each, given
    named = _named(db, list(names))
    named = _latest(named, matching) if newest else named
    entries = db.lateral("audit", "f", each)
    return f"SELECT f.id FROM {named} AS w {entries} {order.format('f')}", given | names


def _named(db: Connection, columns: list[str]) -> str:
    """Return SQL for the names in the parameters: actors, actions, or each actor with each."""
    lists = (f"{db.each(one, **{one: 'text'})} AS {one}s" for one in columns)
    return f"(SELECT * FROM {' CROSS JOIN '.join(lists)})"


def _latest(named: str, matching: str) -> str:
    """Return SQL for the names with the newest entries: the newest entries are among theirs."""
    return (
        f"(SELECT * FROM (SELECT w.*, (SELECT max(x.id) {matching}) AS newest FROM {named} AS w)"
        " AS l WHERE newest IS NOT NULL ORDER BY newest DESC LIMIT :limit)"
    )


def latest_entry(db: Connection, action: str) -> Row | None:
    """Return the newest entry of an action, or None."""
    return next(iter(page(db, AuditFilter(actions=[action]), limit=1)), None)


def switched_off_by(db: Connection, hook: Row) -> Row | None:
    """Return the `actor` that switched off a hook, and `via` what.

    Return None if nobody did, or if the log does not say. A command may name the hook otherwise, or
    load a document with it.
    """
    if hook["off_since"] is None:
        return None
    found = db.one(
        "SELECT actor, via FROM audit WHERE at = :at AND (via = 'command'"
        " OR target || '/' LIKE :target ESCAPE '!') ORDER BY id LIMIT 1",
        at=hook["off_since"],
        target=containing_plain(f"/hooks/{hook['id']}/"),
    )
    return found and {name: _text(value) for name, value in found.items()}
