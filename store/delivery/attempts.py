"""Attempts: each request with its response.

The API lists each attempt as one of a hook's deliveries.
"""

import json
from collections.abc import Iterable

from store.database import body_codec, paging
from store.database.connection import Connection, Row, json_array
from store.delivery import event_fields
from store.formats.installed import with_installation

COLUMNS = (
    "a.id, a.delivery_id, a.hook_id, a.event_id, a.repo_id, a.number, a.redelivery, a.started_at,"
    " a.duration, a.status_code, a.error, a.url, a.address, a.timings, a.instruction,"
    " COALESCE(a.installation_id, e.installation_id) AS installation_id,"
    " e.guid, e.name AS event, e.action, e.received_at"
)
SUCCEEDED = "a.status_code BETWEEN 200 AND 299 AND a.error IS NULL"
FAILED = "(a.status_code IS NULL OR a.status_code NOT BETWEEN 200 AND 299 OR a.error IS NOT NULL)"
FAILED_X = FAILED.replace("a.", "x.")
"""The same condition for a subquery, which calls the table `x`."""
REPOSITORY = (
    "CASE WHEN COALESCE(h.org_id, o.id) = o.id THEN o.login || '/' || r.name END AS repository"
)
"""The present name of the repository `r` of owner `o`, for the hook `h`.

A repository that has left the hook's organization has none here: its name may be private there.
"""


def page(
    db: Connection,
    hook_id: int,
    *,
    limit: int,
    before: int | None = None,
    after: int | None = None,
    status: str | None = None,
    event: str | None = None,
    since: int | None = None,
    guid: str | None = None,
) -> list[Row]:
    """Return a page of a hook's attempts, newest first.

    `before` and `after` are attempt ids and exclusive; `after` returns the attempts that follow it
    directly. `status` is "success" or "failure". `since` is in microseconds.
    """
    where, given = paging.conditions(
        {
            "a.hook_id = :hook_id": hook_id,
            "a.id < :before": before,
            "a.id > :after": after,
            SUCCEEDED: status == "success",
            FAILED: status == "failure",
            "e.name = :event": event,
            "a.started_at >= :since": since,
            "e.guid = :guid": guid,
        }
    )
    order = "ASC" if after is not None else "DESC"
    rows = db.all(
        f"SELECT {COLUMNS} FROM attempt a JOIN event e ON e.id = a.event_id"
        f" WHERE {where} ORDER BY a.id {order} LIMIT :limit",
        limit=limit,
        **given,
    )
    rows.sort(key=lambda row: -row["id"])
    return [_row(row) for row in rows]


def _row(row: Row) -> Row:
    row["timings"] = json.loads(row["timings"])
    return row


def get(db: Connection, hook_id: int, attempt_id: int) -> Row | None:
    """Return one attempt of the hook, or None.

    The row has `request_headers`, `response_headers` (None if there was no response),
    `response_body`, `event_body` (None if retention has deleted it), and `event_repository` for
    formats.
    """
    row = db.one(
        f"SELECT {COLUMNS}, a.request_head, a.response_head, a.response_body, a.installation_id"
        " AS named_installation, e.body AS event_body, e.repo_id AS event_repo FROM attempt a"
        " JOIN event e ON e.id = a.event_id WHERE a.hook_id = :hook_id AND a.id = :id",
        hook_id=hook_id,
        id=attempt_id,
    )
    if row is None:
        return None
    # The request's first line is not a header. The response's status line was removed on reading.
    row["request_headers"] = parse_headers(row.pop("request_head").partition("\r\n")[2])
    head = row.pop("response_head")
    row["response_headers"] = None if head is None else parse_headers(head)
    body = _sent(row.pop("event_body"), row.pop("named_installation"))
    row["event_body"] = body
    row["event_repository"] = event_fields.own_repository(db, row.pop("event_repo"), body)
    return _row(row)


def _sent(packed: bytes | None, installation_id: int | None) -> bytes | None:
    """Return an event's body as the attempt sent it."""
    if packed is None:
        return None
    body = body_codec.decompress(packed)
    return body if installation_id is None else with_installation(body, installation_id)


def get_of_app(db: Connection, app_id: int, attempt_id: int) -> Row | None:
    """Return one attempt of the app's hook as `get` does, or None."""
    hook_id = db.optional_number(
        "SELECT id FROM hook WHERE app_id = :app_id AND deleted_at IS NULL", app_id=app_id
    )
    return None if hook_id is None else get(db, hook_id, attempt_id)


def parse_headers(head: str) -> dict[str, str]:
    """Parse header lines into a mapping. The values of a repeated header are joined with commas."""
    found: dict[str, str] = {}
    for line in head.split("\r\n"):
        name, colon, value = line.partition(":")
        if colon:
            known = found.get(name)
            found[name] = value.strip() if known is None else f"{known}, {value.strip()}"
    return found


def of_delivery(db: Connection, delivery_id: int) -> list[Row]:
    """Return a delivery's attempts, oldest first."""
    rows = db.all(
        f"SELECT {COLUMNS} FROM attempt a JOIN event e ON e.id = a.event_id"
        " WHERE a.delivery_id = :delivery_id ORDER BY a.id",
        delivery_id=delivery_id,
    )
    return [_row(row) for row in rows]


def last_responses(db: Connection, hook_ids: Iterable[int]) -> dict[int, Row]:
    """Return `status_code` and `error` of the latest attempt, for each hook that has one."""
    rows = db.all(
        "SELECT a.hook_id, a.status_code, a.error FROM"
        f" {db.each('hooks', hook_id='integer')} AS w JOIN attempt a ON a.id ="
        " (SELECT max(x.id) FROM attempt x WHERE x.hook_id = w.hook_id)",
        hooks=json_array(hook_ids),
    )
    return {row["hook_id"]: row for row in rows}
