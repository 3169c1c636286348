"""Runs that publish snapshots of the state: their topics, and their progress."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from store.database.connection import Connection, Row
from store.errors import Conflict, Invalid, existing
from store.hooks.event_names import WILDCARD
from store.jobs import jobs
from store.jobs.runs import RunTable
from store.registry import snapshot_source
from store.registry.snapshot_source import Key, SnapshotSource
from store.registry.snapshot_table import EVENTS, SNAPSHOT_SOURCES

COLUMNS = (
    "id, topic, owner, repo, event, since, rate, scheduled, total, published, resource, repo_id,"
    " place, moves, created_at, started_at, moved_at, ended_at, outcome"
)
TOPIC = re.compile(r"(?:.*/)?([^/]+)/([^/]+)/events/([^/]+?)(?:\.json)?")
NAME = re.compile(r"[A-Za-z0-9._*-]{1,100}")
# The limit of repositories in one step.
MANY = 50
# Requested runs come before scheduled ones.
RUNS = RunTable(
    "republishing", COLUMNS, turns="scheduled, id", noun="run", cancelled_outcome="stopped"
)


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """A pattern for topics. `*` stands for any owner, any repository, or all events."""

    topic: str
    owner: str
    repo: str
    event: str

    @property
    def kinds(self) -> list[SnapshotSource]:
        """Return the sources of snapshots for these topics."""
        return [one for one in SNAPSHOT_SOURCES if self.event in (WILDCARD, one.event)]


def parse_pattern(topic: str) -> TopicPattern:
    """Parse `owner/repo/events/event`, or a URL that ends with it.

    Raises Invalid if it is malformed, or if no snapshot has this event.
    """
    found = TOPIC.fullmatch(topic)
    if found is None or not all(NAME.fullmatch(part) for part in found.groups()[:2]):
        raise Invalid(f"{topic[:200]!r} is no topic: write owner/repo/events/event, with * for any")
    owner, repo, event = found.groups()
    if event != WILDCARD and event not in EVENTS:
        known = ", ".join(sorted(EVENTS))
        raise Invalid(f"no event {event!r} has snapshots: use * or one of {known}")
    return TopicPattern(f"{owner}/{repo}/events/{event}", owner.lower(), repo.lower(), event)


def count(db: Connection, wanted: TopicPattern, since: int | None) -> dict[str, int]:
    """Return how many snapshots each source has. This may take long, so call it in a read."""
    return snapshot_source.count(db, wanted.kinds, wanted.owner, wanted.repo, since)


def create(
    db: Connection,
    wanted: TopicPattern,
    total: int,
    *,
    rate: int,
    since: int | None = None,
    scheduled: bool = False,
) -> Row:
    """Create a run that publishes `total` snapshots. Return it (COLUMNS).

    If a scheduled run of the same topic is still under way, return that one.
    """
    if scheduled and (row := _by_schedule(db, wanted)) is not None:
        return row
    row = db.required(
        "INSERT INTO republishing"
        " (topic, owner, repo, event, since, rate, scheduled, total, created_at) VALUES"
        " (:topic, :owner, :repo, :event, :since, :rate, :scheduled, :total, :now)"
        f" RETURNING {COLUMNS}",
        topic=wanted.topic,
        owner=wanted.owner,
        repo=wanted.repo,
        event=wanted.event,
        since=since,
        rate=rate,
        scheduled=int(scheduled),
        total=total,
    )
    jobs.notify_worker(db)
    return row


def _by_schedule(db: Connection, wanted: TopicPattern) -> Row | None:
    return db.one(
        f"SELECT {COLUMNS} FROM republishing"
        " WHERE ended_at IS NULL AND scheduled = 1 AND topic = :topic ORDER BY id LIMIT 1",
        topic=wanted.topic,
    )


def get(db: Connection, run_id: int) -> Row:
    """Return the run with this id. Raises Missing."""
    return existing(
        db.one(f"SELECT {COLUMNS} FROM republishing WHERE id = :id", id=run_id),
        f"there is no run {run_id}",
    )


def page(db: Connection, *, limit: int) -> list[Row]:
    """Return the runs, newest first."""
    return db.all(f"SELECT {COLUMNS} FROM republishing ORDER BY id DESC LIMIT :limit", limit=limit)


@dataclass(frozen=True, slots=True)
class NextBatch:
    """The next part of a run: a source, and repositories that have it."""

    kind: SnapshotSource
    repos: Sequence[int]


def next_batch(db: Connection, run: Row) -> NextBatch | None:
    """Return what is to be published next, or None if nothing is left."""
    kinds = TopicPattern(run["topic"], run["owner"], run["repo"], run["event"]).kinds
    reached = 0
    if run["resource"] is not None:
        # If this program does not know the source any more, it starts with its first one.
        reached = next((i for i, one in enumerate(kinds) if one.name == run["resource"]), 0)
    for kind in kinds[reached:]:
        first = run["repo_id"] if kind.name == run["resource"] else 0
        found = snapshot_source.repositories_with(db, kind, run["owner"], run["repo"], first, MANY)
        if found:
            return NextBatch(kind, found)
    return None


def read_batch(
    db: Connection, run: Row, upcoming: NextBatch, limit: int
) -> tuple[list[tuple[int, list[Row]]], tuple[int, Key | None]]:
    """Return the next rows by repository, up to `limit`, and the run's new position.

    Rows that have not changed since the run's `since` are left out.
    """
    found: list[tuple[int, list[Row]]] = []
    left, looked_at = limit, 0
    for repo_id in upcoming.repos:
        after = _after(run, upcoming.kind, repo_id)
        rows = snapshot_source.page(db, upcoming.kind, repo_id, after, limit)
        looked_at += len(rows)
        chosen, last = _chosen(rows, run["since"], left)
        left -= len(chosen)
        if chosen:
            found.append((repo_id, chosen))
        if last is not None or len(rows) == limit:
            return found, (repo_id, (last or rows[-1])["key_"])
        if not left or looked_at >= limit:
            break
    return found, (repo_id + 1, None)


def _after(run: Row, kind: SnapshotSource, repo_id: int) -> Key:
    if run["place"] is None or (run["resource"], run["repo_id"]) != (kind.name, repo_id):
        return kind.lowest
    after: Key = orjson.loads(run["place"])
    return after


def _chosen(rows: list[Row], since: int | None, most: int) -> tuple[list[Row], Row | None]:
    """Return the changed rows, and the last of them if there are more than `most`."""
    chosen = [row for row in rows if since is None or row["changed_"] >= since]
    if len(chosen) <= most:
        return chosen, None
    return chosen[:most], chosen[most - 1]


def advance(
    db: Connection, run: Row, kind: SnapshotSource, place: tuple[int, Key | None], many: int
) -> Row:
    """Record a run's progress. Return the run. Raises StaleRun if it is elsewhere by now."""
    repo_id, key = place
    return RUNS.move(
        db,
        run,
        published=run["published"] + many,
        resource=kind.name,
        repo_id=repo_id,
        place=None if key is None else orjson.dumps(key).decode(),
    )


def finish(db: Connection, run: Row, outcome: str) -> Row:
    """End a run. Return it. Raises StaleRun as `advance` does."""
    return RUNS.move(db, run, ended_at=db.now, outcome=outcome)


def cancel(db: Connection, run_id: int) -> Row:
    """Cancel a run. Return it. Raises Missing if there is none, Conflict if it has ended."""
    was_open = RUNS.cut(db, run_id)
    run = get(db, run_id)
    if not was_open:
        raise Conflict(f"run {run_id} is over")
    return run
