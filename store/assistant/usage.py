"""Usage of the coding assistant: counts of a user on a day.

There is one row for each combination of organization, repository, team, editor, language and model.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from store.assistant import seat_activity, usage_days, usage_names
from store.database.connection import Connection

KEY = "day_id, user_id, organization_id, repo_id, team_id, editor_id, language_id, model_id"
COUNTED = ("suggestions", "acceptances", "lines", "chats", "active", "engaged")
MOST = 1_000_000_000
"""The limit of a count in one row."""


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """A row. 0 and an empty text mean unknown."""

    enterprise_id: int
    organization_id: int
    user_id: int
    day: int
    """Days since 1970-01-01."""
    repo_id: int = 0
    team_id: int = 0
    editor: str = ""
    language: str = ""
    model: str = ""
    suggestions: int = 0
    acceptances: int = 0
    lines: int = 0
    chats: int = 0
    active: bool = False
    engaged: bool = False

    def names(self) -> list[usage_names.Key]:
        """Return the keys of its editor, language and model."""
        found = (self.editor, self.language, self.model)
        pairs = zip(usage_names.KINDS, found, strict=True)
        return [(self.enterprise_id, kind, name) for kind, name in pairs]


Values = tuple[int, ...]


def record(db: Connection, rows: Sequence[UsageRecord]) -> int:
    """Store rows, each in place of the row with the same combination. Return how many changed.

    If the same combination occurs several times, the last one counts. Raises Invalid for too many
    names.
    """
    days = usage_days.put(db, {(row.enterprise_id, row.day) for row in rows})
    # The latest day of each name comes last.
    by_day = sorted(rows, key=lambda row: row.day)
    names = usage_names.put(db, {key: row.day for row in by_day for key in row.names()})
    values = _values(rows, days, names)
    different = ", ".join(f"usage.{name}" for name in COUNTED)
    given = ", ".join(f"excluded.{name}" for name in COUNTED)
    changed = db.insert_many(
        "usage",
        f"{KEY}, {', '.join(COUNTED)}",
        values,
        f"ON CONFLICT ({KEY}) DO UPDATE SET"
        f" {', '.join(f'{name} = excluded.{name}' for name in COUNTED)}"
        f" WHERE ({different}) <> ({given}) RETURNING day_id",
    )
    usage_days.changed(db, {day_id for (day_id,) in changed})
    _refresh_seats(db, rows)
    return len(changed)


def _values(
    rows: Iterable[UsageRecord], days: dict[tuple[int, int], int], names: dict[usage_names.Key, int]
) -> list[Values]:
    """Return each combination once, in the table's form, sorted to avoid deadlocks."""
    found: dict[Values, Values] = {}
    for row in rows:
        said = (names.get(key, 0) for key in row.names())
        day_id = days[row.enterprise_id, row.day]
        key = (day_id, row.user_id, row.organization_id, row.repo_id, row.team_id, *said)
        counted = row.suggestions, row.acceptances, row.lines, row.chats
        found[key] = (*counted, int(row.active), int(row.engaged))
    return [(*key, *counted) for key, counted in sorted(found.items())]


def _refresh_seats(db: Connection, rows: Iterable[UsageRecord]) -> None:
    last: dict[tuple[int, int], tuple[int, str]] = {}
    for row in rows:
        if row.active:
            # The time on that day is unknown. It is not after the day's end, and not in the future.
            moment = min(usage_days.ends(row.day), db.now)
            key = row.organization_id, row.user_id
            before = last.get(key, (0, ""))
            if moment >= before[0]:
                last[key] = moment, row.editor or before[1]
    seat_activity.used(
        db, [(*key, moment, editor or None) for key, (moment, editor) in sorted(last.items())]
    )


def last(db: Connection) -> int:
    """Return the newest row's id, or 0."""
    return db.number("SELECT coalesce(max(id), 0) FROM usage")


def drop(db: Connection, before: int, limit: int) -> int:
    """Delete rows of days before this one, then these days and their names. Return how many rows.

    At most `limit` rows are deleted.
    """
    many = db.execute(
        "DELETE FROM usage WHERE id IN (SELECT u.id FROM usage u JOIN usage_day d"
        " ON d.id = u.day_id WHERE d.day < :before LIMIT :limit)",
        before=before,
        limit=limit,
    )
    if many < limit:
        db.execute("DELETE FROM usage_day WHERE day < :before", before=before)
        usage_names.drop(db, before)
    return many
