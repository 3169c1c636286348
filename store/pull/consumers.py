"""Consumers: the programs that fetch the deliveries of a pull hook, by the names that they give."""

from store.clock import DAY, MINUTE
from store.database.connection import Connection, Row
from store.errors import Conflict

# A consumer that asked for nothing for this long is away. A poll lasts a minute at most.
AWAY = 2 * MINUTE
FORGOTTEN = DAY
# The limit of consumers of one hook: of those that are attached, and of those that are kept.
MOST = 100


def touch(db: Connection, hook_id: int, name: str) -> None:
    """Record that a consumer has asked for something now.

    Raises Conflict if the hook has MOST other consumers at present.
    """
    updated = db.execute(
        "UPDATE pull_consumer SET seen_at = :now,"
        " since = CASE WHEN seen_at < :away THEN :now ELSE since END"
        " WHERE hook_id = :hook_id AND name = :name",
        hook_id=hook_id,
        name=name,
        away=db.now - AWAY,
    )
    if not updated:
        _add(db, hook_id, name)


def _add(db: Connection, hook_id: int, name: str) -> None:
    many = db.value(
        "SELECT count(*) FROM pull_consumer WHERE hook_id = :hook_id AND seen_at >= :away",
        hook_id=hook_id,
        away=db.now - AWAY,
    )
    if many >= MOST:
        raise Conflict(f"hook {hook_id} has {MOST} consumers already")
    # The new one takes the place of the one that has been away the longest.
    latest = (
        "SELECT k.name FROM pull_consumer k WHERE k.hook_id = :hook_id AND k.seen_at >= :forgotten"
        " ORDER BY k.seen_at DESC, k.name LIMIT :room"
    )
    db.execute(
        f"DELETE FROM pull_consumer WHERE hook_id = :hook_id AND name NOT IN ({latest})",
        hook_id=hook_id,
        forgotten=db.now - FORGOTTEN,
        room=MOST - 1,
    )
    db.execute(
        "INSERT INTO pull_consumer (hook_id, name, since, seen_at)"
        " VALUES (:hook_id, :name, :now, :now) ON CONFLICT (hook_id, name)"
        " DO UPDATE SET seen_at = excluded.seen_at",
        hook_id=hook_id,
        name=name,
    )


def of_hook(db: Connection, hook_id: int) -> list[Row]:
    """Return a hook's consumers that are not forgotten, the latest first.

    A row has `name`, `since`, `seen_at`, whether the consumer is `attached`, and how many `leases`
    it holds.
    """
    rows = db.all(
        "SELECT c.name, c.since, c.seen_at, CASE WHEN c.seen_at >= :away THEN 1 ELSE 0 END"
        " AS attached, (SELECT count(*) FROM pull_lease l WHERE l.hook_id = c.hook_id"
        " AND l.consumer = c.name AND l.ended_at IS NULL) AS leases FROM pull_consumer c"
        " WHERE c.hook_id = :hook_id AND c.seen_at >= :forgotten"
        " ORDER BY c.seen_at DESC, c.name LIMIT :most",
        hook_id=hook_id,
        away=db.now - AWAY,
        forgotten=db.now - FORGOTTEN,
        most=MOST,
    )
    for row in rows:
        row["attached"] = bool(row["attached"])
    return rows
