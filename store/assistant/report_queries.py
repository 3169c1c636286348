"""Reports of usage for people to browse, and the progress of those under way."""

from store.assistant.reports import COLUMNS
from store.assistant.usage_days import of_moment
from store.database.connection import Connection, Row, json_array
from store.database.list_order import Matches
from store.database.newest_rows import NewestRows
from store.database.time_range import ALWAYS, TimeRange


def enterprises(db: Connection, account_id: int | None, limit: int) -> list[Row]:
    """Return the enterprises whose reports an account may see (None: all), by name.

    Each has its `slug`, its policy, the number of `waiting` days, which have ended and have new
    usage, and the `last_day` that was reported.
    """
    chosen, given = "", {}
    if account_id is not None:
        chosen = (
            " WHERE e.id IN (SELECT m.enterprise_id FROM enterprise_member m"
            " WHERE m.account_id = :account_id AND m.role IN ('owner', 'billing_manager'))"
        )
        given = {"account_id": account_id}
    return db.all(
        "SELECT e.id, e.slug, e.usage_metrics,"
        " (SELECT count(*) FROM usage_day d WHERE d.enterprise_id = e.id"
        " AND d.made_version < d.version AND d.day < :today) AS waiting,"
        " (SELECT max(d.day) FROM usage_day d WHERE d.enterprise_id = e.id"
        f" AND d.made_version > 0) AS last_day FROM enterprise e{chosen}"
        " ORDER BY e.slug LIMIT :limit",
        today=of_moment(db.now),
        limit=limit,
        **given,
    )


def page(
    db: Connection,
    enterprise_ids: list[int],
    *,
    limit: int,
    before: int | None = None,
    times: TimeRange = ALWAYS,
) -> list[Row]:
    """Return a page of their reports, newest first. `times` limits when they were created.

    Each has the enterprise's `slug`. An unfinished one has its number of `parts`.
    """
    rows = _rows(db, enterprise_ids, times, before).page(
        f"SELECT {', '.join(f'x.{name}' for name in COLUMNS.split(', '))}, e.slug FROM report x"
        " JOIN enterprise e ON e.id = x.enterprise_id",
        limit,
    )
    parts = _parts(db, [row["id"] for row in rows if row["made_at"] is None])
    return [{**row, "parts": parts.get(row["id"], 0)} for row in rows]


def count(db: Connection, enterprise_ids: list[int], times: TimeRange) -> Matches:
    """Return the number of reports that `page` lists."""
    return _rows(db, enterprise_ids, times).count()


def _rows(
    db: Connection, enterprise_ids: list[int], times: TimeRange, before: int | None = None
) -> NewestRows:
    of = f"x.enterprise_id {db.among('enterprises')}"
    found = NewestRows(db, "report", times, before)
    return found.meeting(of, enterprises=json_array(enterprise_ids))


def _parts(db: Connection, report_ids: list[int]) -> dict[int, int]:
    if not report_ids:
        return {}
    return db.mapping(
        "SELECT p.report_id, count(*) FROM report_part p WHERE p.report_id"
        f" {db.among('ids')} GROUP BY p.report_id",
        ids=json_array(report_ids),
    )
