"""Reports of usage, and their lines in compressed parts.

They are stored in the database beside the files, so that every machine can serve them, and so that
a backup contains them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from store.database.body_codec import compress, decompress
from store.database.connection import Connection, Row, json_array
from store.errors import Missing

COLUMNS = (
    "id, enterprise_id, kind, first_day, last_day, version, created_at, made_at, replaced_at,"
    " lines, size, digest"
)
OF_A_DAY = ("enterprise-1-day", "users-1-day", "repos-1-day", "user-teams-1-day")
OF_A_WINDOW = ("enterprise-28-day", "users-28-day")
PART = 1024 * 1024
"""Bytes of a file that are compressed together."""


@dataclass(frozen=True, slots=True)
class ReportPart:
    """A finished report: the lines, bytes and SHA-256 of its file."""

    report_id: int
    lines: int
    size: int
    digest: str


def begin(
    db: Connection, kinds: Iterable[str], enterprise_id: int, first: int, last: int, version: int
) -> dict[str, int]:
    """Create reports of these kinds, for days from `first` to `last`. Return kind to id."""
    rows = db.insert_many(
        "report",
        "enterprise_id, kind, first_day, last_day, version, created_at",
        [(enterprise_id, kind, first, last, version, db.now) for kind in kinds],
        "RETURNING kind, id",
    )
    return dict(rows)


def put_part(db: Connection, report_id: int, number: int, content: bytes) -> None:
    """Store a part of a report's file. Raises Invalid if the report was deleted meanwhile."""
    db.execute(
        "INSERT INTO report_part (report_id, number, content)"
        " VALUES (:report_id, :number, :content)",
        report_id=report_id,
        number=number,
        content=compress(content),
    )


def part(db: Connection, report_id: int, number: int) -> bytes | None:
    """Return a part of a report's file, counted from 0, or None after its end."""
    content = db.find_value("SELECT content FROM report_part", report_id=report_id, number=number)
    return None if content is None else decompress(content)


def finish(db: Connection, made: Iterable[ReportPart]) -> None:
    """Mark these reports as finished. They replace former ones for the same or the last days.

    Raises Missing if another worker has given one up meanwhile.
    """
    for each in made:
        db.execute(
            "UPDATE report SET replaced_at = :now WHERE replaced_at IS NULL AND made_at IS NOT NULL"
            " AND EXISTS (SELECT 1 FROM report n WHERE n.id = :id AND n.kind = report.kind"
            " AND n.enterprise_id = report.enterprise_id"
            f" AND (n.last_day = report.last_day OR n.kind IN {_windows()}))",
            id=each.report_id,
        )
        there = db.update(
            "report",
            each.report_id,
            made_at=db.now,
            lines=each.lines,
            size=each.size,
            digest=each.digest,
        )
        if not there:
            raise Missing("report")


def _windows() -> str:
    return "(" + ", ".join(f"'{kind}'" for kind in OF_A_WINDOW) + ")"


def of_day(db: Connection, enterprise_id: int, kind: str, day: int) -> Row | None:
    """Return the report of a day, or None."""
    return db.one(
        f"SELECT {COLUMNS} FROM report WHERE enterprise_id = :enterprise_id AND kind = :kind"
        " AND last_day = :day AND made_at IS NOT NULL AND replaced_at IS NULL"
        " ORDER BY id DESC LIMIT 1",
        enterprise_id=enterprise_id,
        kind=kind,
        day=day,
    )


def latest(db: Connection, enterprise_id: int, kind: str) -> Row | None:
    """Return the report of the last days, or None."""
    return db.one(
        f"SELECT {COLUMNS} FROM report WHERE enterprise_id = :enterprise_id AND kind = :kind"
        " AND made_at IS NOT NULL AND replaced_at IS NULL ORDER BY last_day DESC, id DESC LIMIT 1",
        enterprise_id=enterprise_id,
        kind=kind,
    )


def get(db: Connection, report_id: int) -> Row | None:
    """Return a finished report, even if it has been replaced, or None."""
    return db.one(
        f"SELECT {COLUMNS} FROM report WHERE id = :id AND made_at IS NOT NULL", id=report_id
    )


def give_up(db: Connection) -> list[int]:
    """Delete the unfinished reports. Return their ids."""
    return _forget(db, db.column("SELECT id FROM report WHERE made_at IS NULL ORDER BY id"))


def forget(db: Connection, *, before_day: int, replaced_before: int, limit: int) -> list[int]:
    """Delete reports of days before `before_day` or replaced before a time. Return their ids."""
    found = db.column(
        "SELECT id FROM report WHERE last_day < :before_day OR replaced_at < :replaced_before"
        " ORDER BY id LIMIT :limit",
        before_day=before_day,
        replaced_before=replaced_before,
        limit=limit,
    )
    return _forget(db, found)


def _forget(db: Connection, ids: list[int]) -> list[int]:
    if ids:
        db.delete_many("report", "id", ids)
    return ids


def unknown(db: Connection, ids: Iterable[int]) -> list[int]:
    """Return which of these ids are no reports."""
    return db.column(
        f"SELECT w.id FROM {db.each('ids', id='integer')} AS w"
        " WHERE NOT EXISTS (SELECT 1 FROM report r WHERE r.id = w.id)",
        ids=json_array(ids),
    )
