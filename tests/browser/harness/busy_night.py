"""A night with 300,000 deliveries: each event went to ten of 30 hooks, and the hooks have every
state of health.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from daemon import Ledger, ledger
from dashboard_guests import DashboardServer

from store import Connection, Store
from store.clock import DAY, HOUR, SECOND
from store.database import body_codec
from store.hook_state import hook_pauses
from store.hooks import hooks

EVENTS, FANOUT, HOOKS = 30_000, 10, 30
NAMES = ("workflow_run", "check_run", "status")
"""The names of the events, in turn. Each hook subscribes to one of them."""
PERIOD = 2 * DAY
FAILING_SINCE = 3 * HOUR
NUMBERS = (
    "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :many)"
    " INSERT INTO"
)
BODY = orjson.dumps({"ref": "refs/heads/main", "commits": [{"message": "Mend the bell"}] * 10})
REFUSED = {"ref": "refs/heads/gone", "note": "refused in the night"}
SAID = '{"message": "There is no branch gone"}'
WORD = "campanile"
# Hooks have numbers from 0. For each state of health, this is the number of the first hook.
DEGRADED, FAILING, RESTING, PAUSED, OFF, SILENT = 18, 21, 25, 27, 28, 29
REASONS = ("503", "401", "404", "NULL")
ATTEMPT = (
    "attempt (id, delivery_id, hook_id, event_id, repo_id, number, redelivery, started_at,"
    " duration, status_code, error, url, timings, request_head, response_head, response_body)"
)


@dataclass(frozen=True)
class Night:
    """The rows that a test looks for."""

    failing: int
    """A hook whose receiver answered 503 for some hours, and is repaired."""
    refused: int
    """The attempt at 03:12, or soon after, that was answered 422."""
    refused_at: datetime
    """The minute of that attempt."""
    word_guid: str
    """The delivery id of the event that has WORD in its payload."""


def fill(store: Store, repo_id: int, receiver: str, many: int = EVENTS) -> Night:
    """Insert hooks, `many` events and their deliveries into a repository, in few SQL statements."""
    first_hook = store.write_sync(_hooks, repo_id, receiver)
    first_event = store.write_sync(_events, repo_id, many)
    first = store.write_sync(_deliveries, repo_id, first_hook, first_event, many * FANOUT)
    store.write_sync(_attempts, first, first_hook)
    store.write_sync(_health, first_hook)
    night = store.write_sync(_extremes, first_hook, first_event)
    store.write_sync(lambda db: db.execute("ANALYZE"))
    return night


def _hooks(db: Connection, repo_id: int, receiver: str) -> int:
    made = [
        hooks.create(
            db, repo_id, url=f"{receiver}/night/{number}", events=[NAMES[number % len(NAMES)]],
            content_type="json",
        )["id"]
        for number in range(HOOKS)
    ]  # fmt: skip
    return int(made[0])


def _events(db: Connection, repo_id: int, many: int) -> int:
    first = int(db.value("SELECT coalesce(max(id), 0) + 1 FROM event"))
    names = " ".join(f"WHEN {at} THEN '{name}'" for at, name in enumerate(NAMES))
    db.execute(
        f"{NUMBERS} event (id, guid, scope, repo_id, source_id, name, action, received_at, size,"
        " digest, body) SELECT :first + i, 'night-' || i, :repo, :repo, 0,"
        f" CASE i % {len(NAMES)} {names} END, 'completed',"
        " :now - (:many - i) * (:period / :many), :size, x'00', :body FROM n",
        many=many,
        first=first,
        repo=repo_id,
        now=db.now,
        period=PERIOD,
        size=len(BODY),
        body=body_codec.compress(BODY),
    )
    return first


def _deliveries(db: Connection, repo_id: int, first_hook: int, first_event: int, many: int) -> int:
    first = int(db.value("SELECT coalesce(max(id), 0) + 1 FROM delivery"))
    db.execute(
        f"{NUMBERS} delivery (id, event_id, hook_id, repo_id, state, attempts, due_at)"
        " SELECT :first + i, :event + i / :fanout,"
        f" :hook + (i % :fanout) * {len(NAMES)} + (i / :fanout) % {len(NAMES)},"
        " :repo, 1, 1, :now FROM n",
        many=many,
        first=first,
        event=first_event,
        fanout=FANOUT,
        hook=first_hook,
        repo=repo_id,
        now=db.now,
    )
    # The last hook has never had a delivery.
    db.execute("DELETE FROM delivery WHERE hook_id = :hook", hook=first_hook + SILENT)
    return first


def _attempts(db: Connection, first: int, first_hook: int) -> None:
    """Insert an attempt for each delivery.

    Hooks that fail have failed for some hours, and degraded hooks fail now and then.
    """
    start = int(db.value("SELECT coalesce(max(id), 0) + 1 FROM attempt"))
    kinds = " ".join(f"WHEN {at} THEN {code}" for at, code in enumerate(REASONS))
    bad = (
        "(n >= :failing AND n < :paused AND e.received_at > :now - :since"
        " OR n >= :degraded AND n < :failing AND d.id % 7 = 0)"
    )
    db.execute(
        f"INSERT INTO {ATTEMPT} SELECT :start + d.id - :first, d.id, d.hook_id, d.event_id,"
        " d.repo_id, 1, 0, e.received_at + :second, 20000 + d.id % 9000,"
        f" CASE WHEN {bad} THEN CASE n % {len(REASONS)} {kinds} END ELSE 200 END,"
        f" CASE WHEN {bad} AND n % {len(REASONS)} = {REASONS.index('NULL')}"
        " THEN 'connect: Connection refused' END,"
        " d.url, '{\"connect\":1000,\"total\":20000}', :head, 'HTTP/1.1 200 OK', 'ok'"
        " FROM (SELECT x.*, h.url, x.hook_id - :hook AS n FROM delivery x"
        " JOIN hook h ON h.id = x.hook_id WHERE x.id >= :first) AS d"
        " JOIN event e ON e.id = d.event_id",
        start=start,
        first=first,
        hook=first_hook,
        degraded=DEGRADED,
        failing=FAILING,
        paused=PAUSED,
        since=FAILING_SINCE,
        now=db.now,
        second=SECOND,
        head="POST /night HTTP/1.1\r\nContent-Type: application/json\r\n",
    )
    db.execute(
        "UPDATE delivery SET state = 2 WHERE id IN (SELECT delivery_id FROM attempt"
        " WHERE id >= :start AND (status_code IS NULL OR status_code >= 300))",
        start=start,
    )


def _health(db: Connection, first_hook: int) -> None:
    def change(start: int, end: int, what: str, **values: Any) -> None:
        db.execute(
            f"UPDATE hook SET {what} WHERE id >= :start AND id < :end",
            start=first_hook + start,
            end=first_hook + end,
            **values,
        )

    change(FAILING, PAUSED, "failing_since = :at", at=db.now - FAILING_SINCE)
    change(RESTING, PAUSED, "resting_until = :at", at=db.now + HOUR)
    change(OFF, SILENT, "active = 0, disabled_reason = 'it answered 410 Gone'")
    paused = hooks.by_id(db, first_hook + PAUSED)
    assert paused is not None
    hook_pauses.pause(db, paused)
    # Three hooks have a backlog: the circuits of two are open, and the third is paused.
    db.execute(
        "UPDATE delivery SET state = 0, due_at = :soon WHERE hook_id IN (:one, :two, :paused)"
        " AND id > (SELECT max(id) - 50000 FROM delivery)",
        one=first_hook + RESTING,
        two=first_hook + RESTING + 1,
        paused=first_hook + PAUSED,
        soon=db.now + HOUR,
    )


def _extremes(db: Connection, first_hook: int, first_event: int) -> Night:
    """Change two payloads: a receiver refused one at 03:12, and the other one contains WORD.

    With few events, the first attempt after 03:12 is some minutes later.
    """
    night = _refused_at(db.now)
    row = db.one(
        "SELECT a.id, a.event_id, a.delivery_id, a.started_at FROM attempt a"
        " WHERE a.started_at >= :at"
        " AND a.id >= (SELECT min(id) FROM attempt WHERE event_id = :first) AND a.hook_id = :hook"
        " ORDER BY a.id LIMIT 1",
        at=int(night.timestamp()) * SECOND,
        first=first_event,
        hook=first_hook,
    )
    assert row is not None
    # The time of the attempt stays: lists expect attempts in the order of their times.
    at = datetime.fromtimestamp(row["started_at"] / SECOND, UTC).replace(second=0, microsecond=0)
    db.execute(
        "UPDATE attempt SET status_code = 422, response_head = 'HTTP/1.1 422 Unprocessable',"
        " response_body = :said WHERE id = :id",
        said=SAID,
        id=row["id"],
    )
    db.execute("UPDATE delivery SET state = 2 WHERE id = :id", id=row["delivery_id"])
    _set_body(db, row["event_id"], REFUSED)
    # The event is one of the newest, so that a search soon finds it on a slow machine, too.
    latest = db.one("SELECT id, guid FROM event WHERE id = (SELECT max(id) - 2 FROM event)")
    assert latest is not None
    _set_body(db, latest["id"], {"ref": "refs/heads/main", "note": f"the {WORD} rings"})
    return Night(first_hook + FAILING + 3, row["id"], at, latest["guid"])


def _refused_at(now: int) -> datetime:
    """The last 03:12 that is at least an hour ago."""
    found = datetime.fromtimestamp(now / SECOND, UTC).replace(hour=3, minute=12, second=0)
    late = datetime.fromtimestamp((now - HOUR) / SECOND, UTC)
    return (found if found < late else found - timedelta(days=1)).replace(microsecond=0)


def _set_body(db: Connection, event_id: int, payload: dict[str, Any]) -> None:
    body = orjson.dumps(payload)
    db.execute(
        "UPDATE event SET body = :body, size = :size WHERE id = :id",
        body=body_codec.compress(body),
        size=len(body),
        id=event_id,
    )


class NightServer(DashboardServer):
    """A daemon with the data of the night, and with the data of `world.py`."""

    def __init__(self, folder: Path, receiver: Ledger, many: int = EVENTS) -> None:
        super().__init__(folder, receiver)
        with self.opened() as store:
            url = f"http://127.0.0.1:{receiver.port}"
            self.night = fill(store, self.world.engine, url, many)

    async def open(self) -> None:
        """Start the daemon."""
        self.url = (await self.serve()).url


@asynccontextmanager
async def busy_night(folder: Path, many: int = EVENTS) -> AsyncIterator[NightServer]:
    """Yield a started daemon with the data of the night, and `many` events, and end it."""
    async with ledger() as receiver:
        made = NightServer(folder, receiver, many)
        try:
            await made.open()
            yield made
        finally:
            await made.close()
