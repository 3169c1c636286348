"""Projection of platforms' check runs. They do not change check runs made here."""

from typing import Any

from store.checks import check_runs, check_suites
from store.database import payload_reader, upsert
from store.database.connection import Connection, Row

TIMES = ("started_at", "completed_at")
FIELDS: payload_reader.Readers = {
    "name": payload_reader.text(255, 1),
    "status": payload_reader.one_of(*check_suites.STATUSES),
    "conclusion": payload_reader.nullable(payload_reader.one_of(*check_suites.CONCLUSIONS)),
    "external_id": payload_reader.nullable(payload_reader.text(1_024)),
    "details_url": payload_reader.nullable(payload_reader.text(2_048)),
    **dict.fromkeys(TIMES, payload_reader.nullable(payload_reader.timestamp)),
}
OUTPUT: payload_reader.Readers = {
    "title": payload_reader.nullable(payload_reader.text(1_024)),
    "summary": payload_reader.nullable(payload_reader.text(65_535)),
    "content": ("text", payload_reader.nullable(payload_reader.text(65_535))),
    "annotations": ("annotations_count", payload_reader.number),
}


def put(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> Row | None:
    """Create or update the check run in a payload, and its suite.

    Return None if the payload is not valid, or if a check run made here has its number. If a source
    has signed an event of its suite, an unsigned event gets None too.
    """
    number = payload_reader.read_field(given, "id", payload_reader.number)
    reported = payload_reader.read_object(given, "check_suite")
    if number is None or reported is None:
        return None
    fields = payload_reader.read_fields(given, FIELDS) | payload_reader.read_fields(
        payload_reader.read_part(given, "output"), OUTPUT
    )
    fields = upsert.believed(db, fields, *TIMES)
    # The payload may have only part of the suite.
    named: Row = {key: given[key] for key in ("app", "head_sha") if key in given}
    suite = check_suites.put(db, repo, {**named, **reported}, event)
    before = check_runs.get(db, repo["id"], number)
    if suite is not None and before and "name" in fields and _replaces(suite, before):
        check_runs.remove(db, before)
        before = None
    if suite is None or (before and not _may_change(before, fields, suite)):
        return None
    fields["signed"] = suite["signed"]
    if "pull_requests" in given:
        fields["pulls"] = check_suites.pulls_of(given)
    return write_run(db, suite, number, before, fields)


def _replaces(suite: Row, before: Row) -> bool:
    """Return whether a source's event replaces the run, which an unsigned event made.

    Its times, and its suite, may be invented.
    """
    return bool(before["reflected"] and before["signed"] < suite["signed"])


def _may_change(before: Row, fields: Row, suite: Row) -> bool:
    """Return whether the payload changes the run. An unsigned event may name another suite."""
    known = before["reflected"] and before["suite_signed"] <= suite["signed"]
    return known and not _older(fields, before)


def _older(fields: Row, before: Row) -> bool:
    """Return whether the payload is older than the stored run. It has no time of the change."""
    reported, kept = _moment(before | fields), _moment(before)
    again = before["status"] == "completed" and fields.get("status", "completed") != "completed"
    return reported < kept or (again and reported == kept)


def _moment(row: Row) -> int:
    return int(row["completed_at"] or row["started_at"] or 0)


def write_run(
    db: Connection, suite: Row, number: int, before: Row | None, fields: Row
) -> Row | None:
    """Create a check run or update the one before. Return None if nothing was written."""
    if before is not None:
        return check_runs.update(db, before, fields)
    if "name" not in fields:
        return None
    values = {
        "number": number,
        "repo_id": suite["repo_id"],
        "suite_id": suite["id"],
        "status": "queued",
        "created_at": db.now,
        "updated_at": db.now,
        **fields,
    }
    check_runs.lock(db, suite["id"])
    made = upsert.insert_if_absent(db, "check_run", values, "repo_id, number")
    return None if made is None else check_runs.is_settled(db, made, None)
