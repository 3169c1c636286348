"""Events by an id that a sender or a receiver has: the guid of an event, or a delivery's number."""

from collections.abc import Sequence

from store.database.connection import LAST_ID, Connection, Row, json_array
from store.delivery import event_queries

# More events than this have one guid only if as many sources and repositories chose the same.
MOST = 20


def of_guid(
    db: Connection,
    guid: str,
    repo_ids: Sequence[int] | None = None,
    org_ids: Sequence[int] | None = None,
) -> list[int]:
    """Return the ids of the events with this guid, newest first, up to MOST.

    With `repo_ids`, up to MOST more are from these repositories and the organizations `org_ids`.
    Somebody who may see no other events finds theirs behind all others.
    """
    found = _with_guid(db, guid, "1 = 1")
    if repo_ids is None or len(found) < MOST:
        return found
    ours = f"(repo_id {db.among('repos')} OR (repo_id = 0 AND org_id {db.among('orgs')}))"
    given = {"repos": json_array(repo_ids), "orgs": json_array(org_ids or ())}
    return sorted({*found, *_with_guid(db, guid, ours, **given)}, reverse=True)


def _with_guid(db: Connection, guid: str, condition: str, **given: str) -> list[int]:
    return db.column(
        f"SELECT id FROM event WHERE guid = :guid AND {condition} ORDER BY id DESC LIMIT :most",
        guid=guid,
        most=MOST,
        **given,
    )


def of_delivery(db: Connection, number: int, org_ids: Sequence[int] | None = None) -> int | None:
    """Return the id of the event of the delivery with this number, or None.

    `org_ids` limits the deliveries as in `event_queries.visible`.
    """
    condition, given = event_queries.visible(db, org_ids)
    return db.optional_number(
        f"SELECT d.event_id {event_queries.TO_HOOKS} WHERE d.id = :id AND {condition}",
        id=number,
        **given,
    )


def of_any(
    db: Connection,
    text: str,
    number: int | None,
    repo_ids: Sequence[int] | None = None,
    org_ids: Sequence[int] | None = None,
) -> list[int]:
    """Return the ids of the events with this guid, and of the event of this delivery.

    `repo_ids` and `org_ids` are as in `of_guid`. `org_ids` also limits the deliveries as in
    `event_queries.visible`.
    """
    found = of_guid(db, text, repo_ids, org_ids)
    event_id = of_delivery(db, number, org_ids) if number and number <= LAST_ID else None
    return found if event_id is None or event_id in found else [*found, event_id]


def places(db: Connection, event_ids: list[int]) -> list[Row]:
    """Return the `id`, `repo_id`, `org_id`, `name` and `action` of these events, newest first.

    They also have `received_at` and `repository`.
    """
    return db.all(
        "SELECT e.id, e.repo_id, e.org_id, e.name, e.action, e.received_at,"
        " a.login || '/' || r.name AS repository FROM event e"
        " LEFT JOIN repository r ON r.id = e.repo_id LEFT JOIN account a ON a.id = r.owner_id"
        f" WHERE e.id {db.among('ids')} ORDER BY e.id DESC",
        ids=json_array(event_ids),
    )


def oldest_at(db: Connection) -> int | None:
    """Return when the oldest stored event was received, or None without any."""
    return db.optional_number("SELECT received_at FROM event ORDER BY id LIMIT 1")
