"""Topics hosted elsewhere: the schedule of their fetches, and the distribution of their content."""

import hashlib
from dataclasses import dataclass

from store.clock import MINUTE, SECOND
from store.database import uuid7
from store.database.connection import Connection, Row, json_array
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from store.delivery.retention import Step
from store.delivery.websub import websub
from store.delivery.websub.websub_topics import CONTENT_EVENT, Topic
from store.ordering.delivery_states import DELIVERED, WAITING

COLUMNS = "id, key, url, due_at, tries, fetched_at, etag, last_modified, digest, event_id, part_id"
HELD = 2 * MINUTE
# The shortest time between two fetches of a topic, however often its publisher announces a change.
APART = 1 * SECOND
AGAIN = (5 * SECOND, 60 * SECOND, 300 * SECOND)
DUE = "due_at <= :now AND taken_until <= :now"


@dataclass(slots=True)
class TopicContent:
    """The content of a topic.

    `part` is the content without the entries that the subscribers have already received, or None if
    the content cannot be split.
    """

    body: bytes
    content_type: str
    etag: str | None
    last_modified: str | None
    part: bytes | None = None


def mark_changed(db: Connection, topic: Topic) -> bool:
    """Record that a topic's publisher announced a change. Return False without subscribers."""
    followed = db.exists(
        "SELECT 1 FROM websub WHERE repo_id = 0 AND topic_key = :key AND ended_at IS NULL"
        " AND lease_ends_at > :now LIMIT 1",
        key=topic.key,
    )
    if not followed:
        return False
    db.execute(
        "INSERT INTO websub_topic (key, url, due_at) VALUES (:key, :url, :now)"
        " ON CONFLICT (key) DO UPDATE SET tries = 0, due_at ="
        # A fetch that lies ahead was recorded by a clock that was fast.
        " CASE WHEN websub_topic.fetched_at > :recent AND websub_topic.fetched_at <= :now"
        " THEN websub_topic.fetched_at + :apart"
        " ELSE :now END",
        key=topic.key,
        url=topic.self_url,
        recent=db.now - APART,
        apart=APART,
    )
    websub.notify_worker(db)
    return True


def next_due(db: Connection) -> int | None:
    """Return the time at which the next topic is to be fetched, or None."""
    return db.optional_number(
        "SELECT min(CASE WHEN taken_until > due_at THEN taken_until ELSE due_at END)"
        " FROM websub_topic WHERE due_at IS NOT NULL"
    )


def claim(db: Connection, limit: int) -> list[Row]:
    """Claim topics that are due. A change that is announced from now on causes another fetch."""
    chosen = f"SELECT id FROM websub_topic WHERE {DUE} ORDER BY due_at LIMIT :limit{db.skip_locked}"
    return db.all(
        "UPDATE websub_topic SET taken_until = :until, tries = tries + 1, due_at = :until"
        f" WHERE id {db.chosen(chosen)} RETURNING {COLUMNS}",
        until=db.now + HELD,
        limit=limit,
    )


def distributed_body(db: Connection, event_id: int | None) -> bytes | None:
    """Return the content that was distributed as this event, or None if it is not kept any more."""
    row = None if event_id is None else events.get(db, event_id)
    return None if row is None else row["body"]


def mark_unchanged(db: Connection, topic: Row) -> None:
    """Record that a topic's content has not changed."""
    _settle(db, topic, None)


def mark_failed(db: Connection, topic: Row, error: str, *, again: bool) -> None:
    """Record that a topic could not be fetched. If `again`, it is retried a few times."""
    pause = AGAIN[topic["tries"] - 1] if again and topic["tries"] <= len(AGAIN) else None
    _settle(db, topic, error, None if pause is None else db.now + pause)


def _settle(db: Connection, topic: Row, error: str | None, due_at: int | None = None) -> None:
    # If a change was announced since the claim, `due_at` differs from the claim's, and stays.
    db.execute(
        "UPDATE websub_topic SET taken_until = 0, fetched_at = :now, error = :error,"
        " due_at = CASE WHEN due_at = :taken THEN CAST(:due_at AS BIGINT) ELSE due_at END"
        " WHERE id = :id",
        id=topic["id"],
        error=error,
        taken=topic["due_at"],
        due_at=due_at,
    )


def distribute(db: Connection, topic: Row, content: TopicContent) -> int:
    """Deliver a topic's content to all its subscribers. Return their number.

    Return 0 if the content equals the last distribution. Subscribers that have received everything
    before get only `content.part`.
    """
    _settle(db, topic, None)
    digest = hashlib.sha256(content.body).hexdigest()
    if digest == topic["digest"]:
        return 0
    up_to_date = _up_to_date(db, topic) if content.part is not None else set()
    everybody = set(_followers(db, topic["key"]))
    event_id = _keep(db, content.body, content.content_type)
    _send(db, event_id, everybody - up_to_date)
    part_id = None
    if content.part is not None and up_to_date & everybody:
        part_id = _keep(db, content.part, content.content_type)
        _send(db, part_id, everybody & up_to_date)
    db.update(
        "websub_topic",
        topic["id"],
        etag=content.etag,
        last_modified=content.last_modified,
        digest=digest,
        event_id=event_id,
        part_id=part_id,
    )
    return len(everybody)


def _followers(db: Connection, key: str) -> list[int]:
    return db.column(
        "SELECT id FROM websub WHERE repo_id = 0 AND topic_key = :key AND ended_at IS NULL"
        " AND lease_ends_at > :now",
        key=key,
    )


def _up_to_date(db: Connection, topic: Row) -> set[int]:
    """Return the subscriptions to which the last distribution was delivered."""
    hook_ids = db.column(
        "SELECT hook_id FROM delivery WHERE event_id IN (:event_id, :part_id)"
        f" AND state = {DELIVERED}",
        event_id=topic["event_id"] or 0,
        part_id=topic["part_id"] or 0,
    )
    return {-hook_id for hook_id in hook_ids}


def _keep(db: Connection, body: bytes, content_type: str) -> int:
    (receipt,) = events.accept_all(db, [IncomingEvent(0, uuid7.new(), 0, CONTENT_EVENT, body)])
    db.execute(
        "INSERT INTO websub_content (event_id, content_type) VALUES (:event_id, :content_type)",
        event_id=receipt.event_id,
        content_type=content_type,
    )
    return receipt.event_id


def _send(db: Connection, event_id: int, subscriptions: set[int]) -> None:
    rows = [(event_id, -one, 0, WAITING, db.now) for one in sorted(subscriptions)]
    if rows:
        db.insert_many("delivery", "event_id, hook_id, repo_id, state, due_at", rows)
        db.wake_after_commit([row[1] for row in rows])


def drop_unfollowed(db: Connection, before: int, limit: int, after: int = 0) -> Step:
    """Delete topics without subscribers that were fetched before a time and are not due.

    If somebody follows such a topic later, its next announced change brings it back. It examines
    the next `limit` topics after the topic `after`.
    """
    ids = db.column(
        "SELECT id FROM websub_topic WHERE id > :after ORDER BY id LIMIT :limit",
        after=after,
        limit=limit,
    )
    dropped = db.execute(
        f"DELETE FROM websub_topic WHERE id {db.among('ids')} AND fetched_at < :before"
        " AND due_at IS NULL AND taken_until <= :now AND NOT EXISTS (SELECT 1 FROM websub x"
        " WHERE x.repo_id = 0 AND x.topic_key = websub_topic.key AND x.ended_at IS NULL)",
        ids=json_array(ids),
        before=before,
    )
    return Step(dropped, ids[-1] if len(ids) == limit else None)
