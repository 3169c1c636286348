"""Events for people to browse."""

from collections.abc import Sequence

from store.database import paging
from store.database.connection import Connection, Row, json_array
from store.delivery import delivery_queries
from store.delivery.event_fields import COLUMNS
from store.delivery.incoming import EXAMPLE_SOURCES
from store.hooks.hook_targets import EVERYWHERE

# An event's deliveries are counted up to this number.
COUNTED = 1_000
TO_HOOKS = "FROM delivery d LEFT JOIN hook h ON h.id = d.hook_id"


def visible(db: Connection, org_ids: Sequence[int] | None) -> tuple[str, dict[str, str]]:
    """Return the SQL condition on deliveries `d` to hooks `h` that count, and its parameters.

    With `org_ids`, those to hooks of other organizations are left out, and those to hooks of the
    installation and of apps unless EVERYWHERE is among them.
    """
    if org_ids is None:
        return "1 = 1", {}
    return (
        f"(d.hook_id < 0 OR h.repo_id IS NOT NULL OR COALESCE(h.org_id, {EVERYWHERE})"
        f" {db.among('orgs')})"
    ), {"orgs": json_array(org_ids)}


def _shown(condition: str = "1 = 1") -> str:
    """Return the query for events. `condition` is the one of `visible`."""
    return (
        f"SELECT {COLUMNS}, CASE WHEN e.body IS NULL THEN 0 ELSE 1 END AS kept,"
        " a.login || '/' || r.name AS repository, g.login AS organization, s.name AS source,"
        " p.login AS posted_by,"
        f" (SELECT count(*) FROM (SELECT d.id {TO_HOOKS} WHERE d.event_id = e.id"
        f" AND {condition} LIMIT {COUNTED}) AS c) AS deliveries"
        " FROM event e LEFT JOIN repository r ON r.id = e.repo_id"
        " LEFT JOIN account a ON a.id = r.owner_id LEFT JOIN account g ON g.id = e.org_id"
        " LEFT JOIN source s ON s.id = e.source_id"
        " LEFT JOIN token t ON t.id = e.token_id LEFT JOIN account p ON p.id = t.account_id"
    )


def shown(
    db: Connection,
    ids: Sequence[int],
    order: str = "e.id DESC",
    limit: int = -1,
    skip: int = 0,
    org_ids: Sequence[int] | None = None,
) -> list[Row]:
    """Return these events as `get` returns them. `order` is SQL.

    `org_ids` limits the deliveries that count as in `visible`.
    """
    where = f"e.id {db.among('ids')}"
    if limit < 0:
        counted, given = visible(db, org_ids)
        query = f"{_shown(counted)} WHERE {where} ORDER BY {order}"
        return db.all(query, ids=json_array(ids), **given)
    # The ids are sorted first, so that deliveries are counted only for the events of this page.
    found = db.column(
        f"SELECT e.id FROM event e WHERE {where} ORDER BY {order} LIMIT :limit OFFSET :skip",
        ids=json_array(ids),
        limit=limit,
        skip=skip,
    )
    return shown(db, found, order, org_ids=org_ids)


def get(db: Connection, event_id: int) -> Row | None:
    """Return one event, or None.

    It has its `repository`, its number of `deliveries`, counted up to COUNTED, and `posted_by`, the
    user with whose token it came, or None.
    """
    return db.one(f"{_shown()} WHERE e.id = :id", id=event_id)


def deliveries_of(
    db: Connection, event_id: int, limit: int, org_ids: Sequence[int] | None = None
) -> list[Row]:
    """Return an event's deliveries, newest first, as `delivery_queries.page` returns them.

    `org_ids` limits them as in `visible`.
    """
    where, given = visible(db, org_ids)
    return delivery_queries.select(
        db, f"d.event_id = :event_id AND {where}", {"event_id": event_id, **given}, limit
    )


def delivery_of(
    db: Connection, event_id: int, delivery_id: int, org_ids: Sequence[int] | None = None
) -> list[Row]:
    """Return one delivery of an event as `deliveries_of` does, or nothing if it is not visible."""
    where, given = visible(db, org_ids)
    where = f"d.id = :delivery_id AND d.event_id = :event_id AND {where}"
    ids = {"delivery_id": delivery_id, "event_id": event_id}
    return delivery_queries.select(db, where, {**ids, **given}, 1)


def newest(
    db: Connection,
    *,
    limit: int,
    before: int | None = None,
    name: str | None = None,
    repo_id: int | None = None,
    token_id: int | None = None,
    unwanted: bool = False,
) -> list[Row]:
    """Return the newest events, however many have to be examined for that.

    Each has its `repository` (owner/name or None) and its number of `deliveries`, all of them
    counted.
    """
    counted = "SELECT count(*) FROM delivery d WHERE d.event_id = e.id AND d.redelivery = 0"
    where, given = paging.conditions(
        {
            "e.id < :before": before,
            "e.name = :name": name,
            "e.repo_id = :repo_id": repo_id,
            "e.token_id = :token_id": token_id,
            f"({counted}) = 0": unwanted,
        }
    )
    return db.all(
        f"SELECT {COLUMNS}, a.login || '/' || r.name AS repository, ({counted}) AS deliveries"
        " FROM event e LEFT JOIN repository r ON r.id = e.repo_id"
        " LEFT JOIN account a ON a.id = r.owner_id"
        f" WHERE {where} ORDER BY e.id DESC LIMIT :limit",
        limit=limit,
        **given,
    )


def latest(db: Connection, repo_id: int, name: str) -> Row | None:
    """Return the repository's latest event of this name that has a body, or None; omit the body.

    Examples do not count.
    """
    return db.one(
        f"SELECT {COLUMNS} FROM event e WHERE e.repo_id = :repo_id AND e.name = :name"
        f" AND e.body IS NOT NULL AND e.source_id NOT IN {EXAMPLE_SOURCES}"
        " ORDER BY e.id DESC LIMIT 1",
        repo_id=repo_id,
        name=name,
    )
