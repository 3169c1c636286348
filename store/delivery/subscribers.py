"""Subscribers: the hooks and WebSub subscriptions of each topic and each repository."""

from store.database.connection import Connection, Row
from store.database.list_order import Matches
from store.database.newest_rows import NewestRows
from store.database.time_range import ALWAYS, TimeRange
from store.hooks.event_names import WILDCARD
from store.hooks.hook_targets import EVERYWHERE

NOT_OF_APP = "s.hook_id NOT IN (SELECT id FROM hook WHERE app_id IS NOT NULL)"
"""SQL for: the subscription `s` is none of an app's hook, which only operators may see."""


def counts_by_event(db: Connection, repo_id: int) -> dict[str, Row]:
    """Return the number of `hooks` and of `followers` (WebSub subscriptions) for each event.

    Hooks that subscribe to all events are counted under WILDCARD. Hooks of apps are left out.
    """
    rows = db.all(
        "SELECT s.event, sum(CASE WHEN s.hook_id > 0 THEN 1 ELSE 0 END) AS hooks,"
        " sum(CASE WHEN s.hook_id < 0 THEN 1 ELSE 0 END) AS followers"
        f" FROM subscription s WHERE s.repo_id = :repo_id AND {NOT_OF_APP} GROUP BY s.event",
        repo_id=repo_id,
    )
    return {
        row["event"]: {"hooks": int(row["hooks"]), "followers": int(row["followers"])}
        for row in rows
    }


def hooks_of_event(db: Connection, repo_id: int, event: str, limit: int) -> list[Row]:
    """Return the repository's hooks that subscribe to an event.

    They have `url`, `active`, and `every`, which is 1 if the hook subscribes to all events, else 0.
    """
    return db.all(
        "SELECT h.id, h.url, h.active, CASE WHEN s.event = :every THEN 1 ELSE 0 END AS every"
        " FROM subscription s JOIN hook h ON h.id = s.hook_id"
        " WHERE s.repo_id = :repo_id AND h.repo_id = :repo_id AND s.event IN (:event, :every)"
        " ORDER BY h.id LIMIT :limit",
        repo_id=repo_id,
        event=event,
        every=WILDCARD,
        limit=limit,
    )


def hook_ids(db: Connection, repo_id: int) -> tuple[list[int], list[int]]:
    """Return the ids of a repository's own hooks, and of other hooks that get its events."""
    own = db.column(
        "SELECT id FROM hook WHERE repo_id = :repo_id AND deleted_at IS NULL ORDER BY id",
        repo_id=repo_id,
    )
    others = db.column(
        "SELECT s.hook_id FROM repository r JOIN owner_subscription s"
        f" ON s.owner_id IN (r.owner_id, {EVERYWHERE}) WHERE r.id = :repo_id"
        " UNION SELECT s.hook_id FROM subscription s JOIN hook h ON h.id = s.hook_id"
        " WHERE s.repo_id = :repo_id AND h.repo_id IS NULL ORDER BY 1",
        repo_id=repo_id,
    )
    return own, others


def subscription_counts(db: Connection, repo_id: int) -> dict[str, int]:
    """Return the number of active WebSub subscriptions for each topic key."""
    return db.mapping(
        "SELECT topic_key, count(*) FROM websub WHERE repo_id = :repo_id AND ended_at IS NULL"
        " GROUP BY topic_key",
        repo_id=repo_id,
    )


def list_subscriptions(
    db: Connection,
    *,
    limit: int,
    before: int | None = None,
    repo_ids: list[int] | None = None,
    times: TimeRange = ALWAYS,
) -> list[Row]:
    """Return the active WebSub subscriptions, newest first, each with its topic's `repository`.

    `times` limits when they were created.
    """
    return _active(db, repo_ids, times, before).page(
        "SELECT x.id, x.topic, x.callback, x.lease_ends_at, x.created_at,"
        " CASE WHEN x.secret IS NULL THEN 0 ELSE 1 END AS signed,"
        " a.login || '/' || r.name AS repository FROM websub x"
        " LEFT JOIN repository r ON r.id = x.repo_id LEFT JOIN account a ON a.id = r.owner_id",
        limit,
    )


def count_subscriptions(db: Connection, repo_ids: list[int] | None, times: TimeRange) -> Matches:
    """Return the number of subscriptions that `list_subscriptions` lists."""
    return _active(db, repo_ids, times).count()


def _active(
    db: Connection, repo_ids: list[int] | None, times: TimeRange, before: int | None = None
) -> NewestRows:
    found = NewestRows(db, "websub", times, before).meeting("x.ended_at IS NULL")
    return found.in_repositories(repo_ids)


def list_external_topics(db: Connection, limit: int) -> list[Row]:
    """Return the topics that are fetched from other hosts, newest first."""
    return db.all(
        "SELECT t.id, t.url, t.due_at, t.tries, t.fetched_at, t.error,"
        " (SELECT count(*) FROM websub w WHERE w.repo_id = 0 AND w.topic_key = t.key"
        " AND w.ended_at IS NULL) AS followers"
        " FROM websub_topic t ORDER BY t.id DESC LIMIT :limit",
        limit=limit,
    )
