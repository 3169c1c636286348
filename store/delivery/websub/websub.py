"""WebSub subscriptions.

In the queue and in the records of deliveries, the subscription `id` is the hook `-id`. So hooks and
their operations need not know about subscriptions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from store.clock import SECOND
from store.database.connection import ENDLESS, Connection, Row, json_array
from store.delivery.websub.websub_topics import events_of

WEBSUB_WAKEUP = 0
"""An id that no hook has. It wakes a worker that then looks for due work of WebSub."""
COLUMNS = (
    "id, repo_id, topic_key, topic, self_url, hub, callback, secret, lease_ends_at, version,"
    " created_at, updated_at, ended_at, reason, host, held_until"
)
KEPT = ("key", "repo_id", "topic_key", "topic", "self_url", "hub", "callback")
"""The columns that a subscription takes from its request, and a denial from one of them."""
PRIVATE = "the topic is no longer public"
EXPIRED = "the lease ended"
# The limit of subscriptions of each kind that one transaction of the worker ends.
MOST = 1_000


def notify_worker(db: Connection) -> None:
    """Wake a worker once this transaction is committed."""
    db.wake_after_commit([WEBSUB_WAKEUP])


def secret_of(db: Connection, row: Row) -> str | None:
    """Return the decrypted secret of a subscription or a request, or None."""
    return None if row["secret"] is None else db.vault.open(row["secret"])


def is_public(db: Connection, repo_id: int) -> bool:
    """Return whether anybody may subscribe to this repository's topics.

    `repo_id` is 0 for a topic hosted elsewhere, which is always public.
    """
    found = db.exists("SELECT 1 FROM repository WHERE id = :id AND private = 0", id=repo_id)
    return repo_id == 0 or found


def apply_verified(db: Connection, request: Row, asked_at: int) -> bool:
    """Apply a request whose intent is verified. Its lease counts from `asked_at`, in microseconds.

    Return False if a later request for the same subscription has been applied before.
    """
    subscribes = request["mode"] == "subscribe"
    ends_at = asked_at + request["lease_seconds"] * SECOND if subscribes else db.now
    given = {name: request[name] for name in (*KEPT, "host")}
    row = db.one(
        "INSERT INTO websub (key, repo_id, topic_key, topic, self_url, hub, callback, host, secret,"
        " lease_ends_at, request_id, created_at, updated_at, ended_at, reason) VALUES (:key,"
        " :repo_id, :topic_key, :topic, :self_url, :hub, :callback, :host, :secret, :ends_at,"
        " :request_id, :now, :now, :ended_at, :reason) ON CONFLICT (key) DO UPDATE SET"
        " topic = excluded.topic, self_url = excluded.self_url, hub = excluded.hub,"
        " callback = excluded.callback, host = excluded.host, secret = excluded.secret,"
        " lease_ends_at = excluded.lease_ends_at, request_id = excluded.request_id,"
        " updated_at = excluded.updated_at, ended_at = excluded.ended_at,"
        " reason = excluded.reason, held_until = NULL, version = websub.version + 1"
        f" WHERE websub.request_id < excluded.request_id RETURNING {COLUMNS}",
        **given,
        secret=request["secret"] if subscribes else None,
        ends_at=ends_at,
        request_id=request["id"],
        ended_at=None if subscribes else db.now,
        reason=None if subscribes else "the subscriber unsubscribed",
    )
    if row is not None:
        _sync_subscriptions(db, row)
        _notify_changed(db, [row["id"]])
    return row is not None


def _notify_changed(db: Connection, subscription_ids: Iterable[int]) -> None:
    """Notify the worker that its copies of these subscriptions are outdated."""
    db.wake_after_commit([-one for one in subscription_ids])


def _sync_subscriptions(db: Connection, row: Row) -> None:
    """Add the subscription to its repository's events if it is active; remove it otherwise."""
    db.delete("subscription", hook_id=-row["id"])
    if row["ended_at"] is None and row["repo_id"]:
        db.insert_many(
            "subscription",
            "repo_id, event, hook_id",
            [(row["repo_id"], name, -row["id"]) for name in events_of(row["topic_key"])],
        )


def by_hook(db: Connection, hook_id: int) -> Row | None:
    """Return the subscription that the queue knows as this hook, whether it has ended or not."""
    return db.one(f"SELECT {COLUMNS} FROM websub WHERE id = :id", id=-hook_id)


def get(db: Connection, subscription_id: int) -> Row | None:
    """Return the subscription with this id, whether it has ended or not."""
    return by_hook(db, -subscription_id)


def versions(db: Connection, hook_ids: Iterable[int], *, locked: bool = False) -> dict[int, int]:
    """Return the current version of each of these subscriptions, keyed by its id in the queue.

    If `locked`, no other transaction changes them until this one ends.
    """
    return db.mapping(
        f"SELECT -id, version FROM websub WHERE id {db.among('ids')}"
        f" ORDER BY id{db.for_update if locked else ''}",
        ids=json_array(-hook_id for hook_id in hook_ids),
    )


def page(db: Connection, *, limit: int, ended: bool = False) -> list[Row]:
    """Return subscriptions, newest first. If `ended`, include the ended ones."""
    return db.all(
        f"SELECT {COLUMNS} FROM websub{'' if ended else ' WHERE ended_at IS NULL'}"
        " ORDER BY id DESC LIMIT :limit",
        limit=limit,
    )


def end(db: Connection, reasons: Mapping[int, str]) -> list[Row]:
    """End subscriptions, each with its reason. Return those that had not ended before."""
    ended = db.all(
        "UPDATE websub SET ended_at = :now, updated_at = :now, secret = NULL, reason = w.reason,"
        f" version = version + 1 FROM {db.each('rows', id='integer', reason='text')} AS w"
        f" WHERE websub.id = w.id AND websub.ended_at IS NULL RETURNING {_named('websub')}",
        rows=json_array(sorted(reasons.items())),
    )
    db.delete_many("subscription", "hook_id", (-row["id"] for row in ended))
    if ended:
        _notify_changed(db, [row["id"] for row in ended])
    return ended


def _named(table: str) -> str:
    return ", ".join(f"{table}.{name} AS {name}" for name in [*COLUMNS.split(", "), "key"])


def deny(db: Connection, reasons: Mapping[int, str]) -> int:
    """End subscriptions and notify their subscribers. Return their number."""
    ended = end(db, reasons)
    notify_denied(db, ended)
    return len(ended)


def notify_denied(db: Connection, denied: Sequence[Row]) -> None:
    """Notify the subscribers of these subscriptions or requests. Each has its `reason`."""
    if not denied:
        return
    db.insert_many(
        "websub_request",
        f"mode, {', '.join(KEPT)}, lease_seconds, reason, host, client, created_at, due_at",
        [
            ("denied", *(row[name] for name in KEPT), 0, row["reason"], "", "", db.now, db.now)
            for row in denied
        ],
    )
    notify_worker(db)


def hold(db: Connection, holds: Mapping[int, tuple[int, int]]) -> None:
    """Record until when subscribers asked for nothing (microseconds).

    `holds` has the version and the time for each of their hook ids in the queue. Subscriptions with
    another version, and hooks, stay as they are.
    """
    db.execute(
        "UPDATE websub SET held_until = w.until FROM"
        f" {db.each('rows', id='integer', version='integer', until='integer')} AS w"
        " WHERE websub.id = w.id AND websub.version = w.version",
        rows=json_array(sorted((-hook_id, *asked) for hook_id, asked in holds.items())),
    )


def end_gone(db: Connection, reasons: Mapping[int, str]) -> set[int]:
    """End the subscriptions whose receivers answered that they are gone.

    `reasons` has a reason for each of their hook ids in the queue. Return the hook ids of those
    that had not ended before.
    """
    ended = end(db, {-hook_id: reason for hook_id, reason in reasons.items()})
    return {-row["id"] for row in ended}


def list_subscription_ids(db: Connection, repo_id: int, most: int = ENDLESS) -> list[int]:
    """Return the ids of the active subscriptions to a repository's topics, `most` at most."""
    sql = "SELECT id FROM websub WHERE repo_id = :repo_id AND ended_at IS NULL LIMIT :most"
    return db.column(sql, repo_id=repo_id, most=most)


def end_private(db: Connection, repo_id: int) -> int:
    """End the subscriptions to a repository that is no longer public. Return their number."""
    return deny(db, dict.fromkeys(list_subscription_ids(db, repo_id), PRIVATE))


def find_ended(db: Connection) -> tuple[list[int], list[int]]:
    """Return subscriptions with an expired lease, and those to a repository that is not public.

    Return MOST of each at most.
    """
    hidden = db.column(
        "SELECT w.id FROM websub w WHERE w.ended_at IS NULL AND w.repo_id <> 0 AND NOT EXISTS"
        " (SELECT 1 FROM repository r WHERE r.id = w.repo_id AND r.private = 0) LIMIT :most",
        most=MOST,
    )
    return _list_expired(db), hidden


def _list_expired(db: Connection) -> list[int]:
    return db.column(
        "SELECT id FROM websub WHERE ended_at IS NULL AND lease_ends_at <= :now"
        " ORDER BY lease_ends_at, id LIMIT :most",
        most=MOST,
    )


def end_found(db: Connection, over: Sequence[int], hidden: Sequence[int]) -> None:
    """End what `find_ended` found, except the subscriptions that were renewed meanwhile."""
    # The other search reads all subscriptions, while all other writers wait.
    end(db, dict.fromkeys(set(over) & set(_list_expired(db)), EXPIRED))
    deny(db, dict.fromkeys(hidden, PRIVATE))


def drop(db: Connection, before: int, limit: int) -> int:
    """Delete subscriptions that ended before a time, up to a limit. Return their number."""
    chosen = "SELECT x.id FROM websub x WHERE x.ended_at < :before LIMIT :limit"
    return db.execute(
        f"DELETE FROM websub WHERE id {db.chosen(chosen)}", before=before, limit=limit
    )


def media_type_of(db: Connection, event_id: int) -> str | None:
    """Return the media type of a distributed topic that is hosted elsewhere, or None."""
    found: Any = db.value(
        "SELECT content_type FROM websub_content WHERE event_id = :id", id=event_id
    )
    return None if found is None else str(found)
