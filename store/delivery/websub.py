"""Subscriptions of WebSub. In the queue, and in the records of deliveries, one is the hook `-id`,
so that hooks and their operations know nothing of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from store.clock import SECOND
from store.database.connection import Connection, Row, json_array
from store.delivery.websub_topics import events_of

WEBSUB_WAKEUP = 0
"""No hook: a worker that is woken for it looks for what WebSub wants done."""
COLUMNS = (
    "id, repo_id, topic_key, topic, self_url, hub, callback, secret, lease_ends_at, version,"
    " created_at, updated_at, ended_at, reason, host"
)
NOTICED = (
    "mode, key, repo_id, topic_key, topic, self_url, hub, callback, lease_seconds, reason, host,"
    " client, created_at, due_at"
)
PRIVATE = "the topic is no longer public"
EXPIRED = "the lease ended"


def notify_worker(db: Connection) -> None:
    """Tell a worker, once this is committed, that there is something to do."""
    courier = db.courier
    db.after_commit(lambda: courier.wake([WEBSUB_WAKEUP]))


def secret_of(db: Connection, row: Row) -> str | None:
    """The secret of a subscription or of a request, opened."""
    return None if row["secret"] is None else db.vault.open(row["secret"])


def is_public(db: Connection, repo_id: int) -> bool:
    """Whether the topics of this repository may be followed by anybody."""
    found = db.value("SELECT 1 FROM repository WHERE id = :id AND private = 0", id=repo_id)
    return repo_id == 0 or found is not None


def apply_verified(db: Connection, request: Row, asked_at: int) -> bool:
    """Do what a request wants, now that its intent is verified; its lease counts from `asked_at`.

    False where a request that came after it has been verified before it.
    """
    subscribes = request["mode"] == "subscribe"
    ends_at = asked_at + request["lease_seconds"] * SECOND if subscribes else db.now
    given = {
        name: request[name]
        for name in ("key", "repo_id", "topic_key", "topic", "self_url", "hub", "callback", "host")
    }
    row = db.one(
        "INSERT INTO websub (key, repo_id, topic_key, topic, self_url, hub, callback, host, secret,"
        " lease_ends_at, request_id, created_at, updated_at, ended_at, reason) VALUES (:key,"
        " :repo_id, :topic_key, :topic, :self_url, :hub, :callback, :host, :secret, :ends_at,"
        " :request_id, :now, :now, :ended_at, :reason) ON CONFLICT (key) DO UPDATE SET"
        " topic = excluded.topic, self_url = excluded.self_url, hub = excluded.hub,"
        " callback = excluded.callback, host = excluded.host, secret = excluded.secret,"
        " lease_ends_at = excluded.lease_ends_at, request_id = excluded.request_id,"
        " updated_at = excluded.updated_at, ended_at = excluded.ended_at,"
        " reason = excluded.reason, version = websub.version + 1"
        f" WHERE websub.request_id < excluded.request_id RETURNING {COLUMNS}",
        **given,
        secret=request["secret"] if subscribes else None,
        ends_at=ends_at,
        request_id=request["id"],
        now=db.now,
        ended_at=None if subscribes else db.now,
        reason=None if subscribes else "the subscriber unsubscribed",
    )
    if row is not None:
        _sync_subscriptions(db, row)
        _notify_changed(db, [row["id"]])
    return row is not None


def _notify_changed(db: Connection, subscription_ids: Iterable[int]) -> None:
    """Let the worker know that what it has in hand for these was taken before a change."""
    courier, hooks = db.courier, [-one for one in subscription_ids]
    db.after_commit(lambda: courier.wake(hooks))


def _sync_subscriptions(db: Connection, row: Row) -> None:
    """Have arriving events of a repository find the subscription, as long as it lasts."""
    db.execute("DELETE FROM subscription WHERE hook_id = :id", id=-row["id"])
    if row["ended_at"] is None and row["repo_id"]:
        db.insert_many(
            "subscription",
            "repo_id, event, hook_id",
            [(row["repo_id"], name, -row["id"]) for name in events_of(row["topic_key"])],
        )


def by_hook(db: Connection, hook_id: int) -> Row | None:
    """The subscription that is this hook in the queue, ended or not."""
    return db.one(f"SELECT {COLUMNS} FROM websub WHERE id = :id", id=-hook_id)


def get(db: Connection, subscription_id: int) -> Row | None:
    """The subscription with this id, ended or not."""
    return by_hook(db, -subscription_id)


def versions(db: Connection, hook_ids: Iterable[int]) -> dict[int, int]:
    """The version that each of these is at, by its hook in the queue."""
    return dict(
        db.tuples(
            "SELECT -id, version FROM websub WHERE id IN"
            f" (SELECT id FROM {db.each('ids', id='integer')} AS w)",
            ids=json_array(-hook_id for hook_id in hook_ids),
        )
    )


def page(db: Connection, *, limit: int, ended: bool = False) -> list[Row]:
    """Subscriptions newest first, those that ended too if they are asked for."""
    return db.all(
        f"SELECT {COLUMNS} FROM websub{'' if ended else ' WHERE ended_at IS NULL'}"
        " ORDER BY id DESC LIMIT :limit",
        limit=limit,
    )


def end(db: Connection, reasons: Mapping[int, str]) -> list[Row]:
    """End subscriptions, each for its reason; returns those that had not ended before."""
    ended = db.all(
        "UPDATE websub SET ended_at = :now, updated_at = :now, secret = NULL, reason = w.reason,"
        f" version = version + 1 FROM {db.each('rows', id='integer', reason='text')} AS w"
        f" WHERE websub.id = w.id AND websub.ended_at IS NULL RETURNING {_named('websub')}",
        rows=json_array(sorted(reasons.items())),
        now=db.now,
    )
    db.execute(
        "DELETE FROM subscription WHERE hook_id IN"
        f" (SELECT id FROM {db.each('ids', id='integer')} AS w)",
        ids=json_array(-row["id"] for row in ended),
    )
    if ended:
        _notify_changed(db, [row["id"] for row in ended])
    return ended


def _named(table: str) -> str:
    return ", ".join(f"{table}.{name} AS {name}" for name in [*COLUMNS.split(", "), "key"])


def deny(db: Connection, reasons: Mapping[int, str]) -> int:
    """End subscriptions and have their subscribers told; returns how many."""
    ended = end(db, reasons)
    rows = [
        (
            "denied",
            row["key"],
            row["repo_id"],
            row["topic_key"],
            row["topic"],
            row["self_url"],
            row["hub"],
            row["callback"],
            0,
            row["reason"],
            "",
            "",
            db.now,
            db.now,
        )
        for row in ended
    ]
    if rows:
        db.insert_many("websub_request", NOTICED, rows)
        notify_worker(db)
    return len(rows)


def end_gone(db: Connection, reasons: Mapping[int, str]) -> set[int]:
    """End those whose receivers said that they are gone, by their hooks in the queue."""
    if not reasons:
        return set()
    ended = end(db, {-hook_id: reason for hook_id, reason in reasons.items()})
    return {-row["id"] for row in ended}


def list_subscription_ids(db: Connection, repo_id: int) -> list[int]:
    """The subscriptions to a repository's topics."""
    rows = db.tuples(
        "SELECT id FROM websub WHERE repo_id = :repo_id AND ended_at IS NULL", repo_id=repo_id
    )
    return [row[0] for row in rows]


def end_private(db: Connection, repo_id: int) -> int:
    """End the subscriptions to a repository that is no longer public; returns how many."""
    return deny(db, dict.fromkeys(list_subscription_ids(db, repo_id), PRIVATE))


def find_ended(db: Connection) -> tuple[list[int], list[int]]:
    """The subscriptions whose lease is over, and those whose repository is not public any more."""
    over = db.tuples(
        "SELECT id FROM websub WHERE ended_at IS NULL AND lease_ends_at <= :now", now=db.now
    )
    hidden = db.tuples(
        "SELECT w.id FROM websub w WHERE w.ended_at IS NULL AND w.repo_id <> 0 AND NOT EXISTS"
        " (SELECT 1 FROM repository r WHERE r.id = w.repo_id AND r.private = 0)"
    )
    return [row[0] for row in over], [row[0] for row in hidden]


def end_found(db: Connection, over: Sequence[int], hidden: Sequence[int]) -> None:
    """End what `overdue` found, unless it was renewed meanwhile."""
    late, _ = find_ended(db)
    end(db, dict.fromkeys(set(over) & set(late), EXPIRED))
    deny(db, dict.fromkeys(hidden, PRIVATE))


def drop(db: Connection, before: int) -> int:
    """Forget subscriptions that ended before a time; returns how many."""
    return db.execute("DELETE FROM websub WHERE ended_at < :before", before=before)


def media_type_of(db: Connection, event_id: int) -> str | None:
    """The media type of a distribution of a topic that is hosted elsewhere."""
    found: Any = db.value(
        "SELECT content_type FROM websub_content WHERE event_id = :id", id=event_id
    )
    return None if found is None else str(found)
