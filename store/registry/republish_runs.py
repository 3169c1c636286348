"""Runs that publish once more how things are: what each is of, and how far it has come."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from store.database.connection import Connection, Row
from store.delivery.event_names import WILDCARD
from store.errors import Invalid, Missing
from store.jobs import jobs
from store.jobs.runs import RunTable
from store.registry import snapshot_source
from store.registry.snapshot_source import Key, SnapshotSource
from store.registry.snapshot_sources import EVENTS, SNAPSHOT_SOURCES

COLUMNS = (
    "id, topic, owner, repo, event, since, rate, scheduled, total, published, resource, repo_id,"
    " place, moves, created_at, started_at, moved_at, ended_at, outcome"
)
TOPIC = re.compile(r"(?:.*/)?([^/]+)/([^/]+)/events/([^/]+?)(?:\.json)?")
NAME = re.compile(r"[A-Za-z0-9._*-]{1,100}")
# Repositories that one step goes through at most.
MANY = 50
# What somebody asked for goes before what the schedule wants.
RUNS = RunTable(
    "republishing", COLUMNS, turns="scheduled, id", noun="run", cancelled_outcome="stopped"
)


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """Which topics: in owner and repository `*` stands for anything, as the event for all."""

    topic: str
    owner: str
    repo: str
    event: str

    @property
    def kinds(self) -> list[SnapshotSource]:
        """The kinds of things whose events these are."""
        return [one for one in SNAPSHOT_SOURCES if self.event in (WILDCARD, one.event)]


def parse_pattern(topic: str) -> TopicPattern:
    """What is meant by `owner/repo/events/event`, or by a URL that ends so. Invalid where it is no
    such thing, or no event tells how anything is.
    """
    found = TOPIC.fullmatch(topic)
    if found is None or not all(NAME.fullmatch(part) for part in found.groups()[:2]):
        raise Invalid(f"{topic[:200]!r} is no topic: owner/repo/events/event, with * for anything")
    owner, repo, event = found.groups()
    if event != WILDCARD and event not in EVENTS:
        known = ", ".join(sorted(EVENTS))
        raise Invalid(f"no event {event!r} tells how something is; these do, and *: {known}")
    return TopicPattern(f"{owner}/{repo}/events/{event}", owner.lower(), repo.lower(), event)


def count(db: Connection, wanted: TopicPattern, since: int | None) -> dict[str, int]:
    """How much there is of each kind. It takes its time: nobody is to wait for the writer then."""
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
    """Have all of it published, of which there is so much; returns the run: COLUMNS. One by the
    schedule that is still under way is not begun twice.
    """
    if scheduled and (row := _by_schedule(db, wanted)) is not None:
        return row
    row = db.one(
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
        now=db.now,
    )
    assert row is not None, "it was just made"
    jobs.notify_worker(db)
    return row


def _by_schedule(db: Connection, wanted: TopicPattern) -> Row | None:
    return db.one(
        f"SELECT {COLUMNS} FROM republishing"
        " WHERE ended_at IS NULL AND scheduled = 1 AND topic = :topic ORDER BY id LIMIT 1",
        topic=wanted.topic,
    )


def get(db: Connection, run_id: int) -> Row:
    """The run with this id, or Missing."""
    row = db.one(f"SELECT {COLUMNS} FROM republishing WHERE id = :id", id=run_id)
    if row is None:
        raise Missing(f"there is no run {run_id}")
    return row


def page(db: Connection, *, limit: int) -> list[Row]:
    """The runs, the newest first."""
    return db.all(f"SELECT {COLUMNS} FROM republishing ORDER BY id DESC LIMIT :limit", limit=limit)


@dataclass(frozen=True, slots=True)
class NextBatch:
    """What follows the place where a run is: of one kind, in these repositories."""

    kind: SnapshotSource
    repos: Sequence[int]


def next_batch(db: Connection, run: Row) -> NextBatch | None:
    """What is to be published next; None where nothing is left."""
    kinds = TopicPattern(run["topic"], run["owner"], run["repo"], run["event"]).kinds
    reached = 0
    if run["resource"] is not None:
        # A program that knows it no longer begins with the first of those that it knows.
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
    """The next of them, so many at most: repository by repository, its rows; and the place where
    the run is then. What has not changed since then is passed over.
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
    """Those that have changed since; and the last of these where no more are wanted."""
    chosen = [row for row in rows if since is None or row["changed_"] >= since]
    if len(chosen) <= most:
        return chosen, None
    return chosen[:most], chosen[most - 1]


def advance(
    db: Connection, run: Row, kind: SnapshotSource, place: tuple[int, Key | None], many: int
) -> Row:
    """The run, so many further. Overtaken where it is no longer where it was."""
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
    """The run, which is over. Overtaken as above."""
    return RUNS.move(db, run, ended_at=db.now, outcome=outcome)


def cancel(db: Connection, run_id: int) -> Row:
    """End a run before it is through. Missing for one that there is not, Invalid for one that is
    over.
    """
    was_open = RUNS.cut(db, run_id)
    run = get(db, run_id)
    if not was_open:
        raise Invalid(f"run {run_id} is over")
    return run
