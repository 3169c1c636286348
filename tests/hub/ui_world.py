"""Hooks that succeed or fail, and their deliveries, for tests of the dashboard."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from store import Connection, Row, Store
from store.accounts import accounts, tokens
from store.clock import HOUR, SECOND
from store.delivery import deliveries, events, leases
from store.delivery.incoming import IncomingEvent
from store.delivery.outcomes import attempt_outcomes
from store.delivery.outcomes.outcome import Outcome
from store.hooks import hooks
from store.monitoring import hook_tallies
from store.ordering.delivery_states import DEAD, DELIVERED, WAITING
from store.repositories import repositories

BODY = b'{"ref":"main","mark":"<b>&"}'
SECRET = "a secret that nobody may see"
OPERATING = ["repo", "admin:enterprise"]
"""Scopes with which a site administrator may administer hooks and the installation."""
HEAD = (
    "POST /in HTTP/1.1\r\nHost: receiver.example\r\nContent-Type: application/json\r\n"
    "X-Service-Event: push"
)


@dataclass
class World:
    """octo's hooks are `good` and `failing` (octo/hello) and `hidden` (octo/vault).

    The hook `other` belongs to another account.
    """

    store: Store
    seed: Any
    good: Row = field(init=False)
    failing: Row = field(init=False)
    hidden: Row = field(init=False)
    other: Row = field(init=False)
    operator: str = field(init=False)
    look_only: str = field(init=False)

    def __post_init__(self) -> None:
        self.store.write_sync(self._furnish)

    def _furnish(self, db: Connection) -> None:
        seed = self.seed
        self.good = hook(db, seed.hello["id"], "good", secret=SECRET)
        self.failing = hook(db, seed.hello["id"], "failing")
        self.hidden = hook(db, seed.vault["id"], "hidden")
        theirs = accounts.create(db, "theirs")
        repo = repositories.create(db, theirs["id"], "thing")
        self.other = hook(db, repo["id"], "other")
        root = accounts.create(db, "root", site_admin=True)
        self.operator = tokens.create(db, root["id"], scopes=OPERATING)[0]
        self.look_only = tokens.create(db, seed.octo["id"], scopes=["read:repo_hook"])[0]

    def send(self, hook: Row, *guids: str, **given: Any) -> list[int]:
        """Record an attempt to deliver a `push` event for each guid. Return the attempts' ids."""
        found: list[int] = self.store.write_sync(
            lambda db: deliver(db, hook, guids or ("g-1",), **given)
        )
        return found


def hook(db: Connection, repo_id: int, name: str, **given: Any) -> Row:
    usual = {"url": f"https://receiver.example/{name}", "events": ["push"], "content_type": "json"}
    return hooks.create(db, repo_id, **usual | given)


def deliver(db: Connection, hook: Row, guids: Sequence[str], **given: Any) -> list[int]:
    """Record an event and an attempt for each guid. Return the attempts' ids, oldest first."""
    lease = leases.acquire(db, "tests", HOUR)
    name, body = given.pop("name", "push"), given.pop("body", BODY)
    about = {"action": given.pop("action")} if "action" in given else {}
    outcomes = []
    for guid in guids:
        arrival = IncomingEvent(hook["repo_id"], guid, hook["repo_id"], name, body, **about)
        receipt = events.insert(db, [arrival])[guid, hook["repo_id"]]
        delivery_id = deliveries.enqueue(db, receipt, hook["id"], hook["repo_id"], redelivery=False)
        outcomes.append(outcome(db, hook, lease, receipt, delivery_id, given))
    deliveries.claim(db, [hook["id"]], lease, len(guids))
    attempt_outcomes.record(db, outcomes)
    counts: hook_tallies.Counts = {}
    attempt_outcomes.tally(counts, outcomes)
    hook_tallies.write(db, counts)
    return [
        number
        for (number,) in db.tuples(
            "SELECT id FROM attempt ORDER BY id DESC LIMIT :many", many=len(guids)
        )
    ][::-1]


def outcome(
    db: Connection, hook: Row, lease: int, event_id: int, delivery_id: int, given: dict[str, Any]
) -> Outcome:
    """The outcome of a successful attempt, with the members in `given` replaced."""
    fails = given.get("status_code", 200) != 200 or given.get("error") is not None
    usual = {
        "number": 1,
        "redelivery": 0,
        "started_at": db.now,
        "duration": 40_000,
        "status_code": 200,
        "error": None,
        "address": "192.0.2.1:443",
        "timings": json.dumps({"resolve": 1000, "connect": 9000, "wait": 29_000, "total": 40_000}),
        "request_head": HEAD,
        "response_head": "Content-Type: text/plain",
        "response_body": "thanks <i>",
        "state": WAITING if fails else DELIVERED,
        "due_at": db.now + (300 * SECOND if fails else 0),
        "accepted_at": db.now,
    }
    present = hooks.by_id(db, hook["id"])
    return Outcome(
        lease_id=lease,
        delivery_id=delivery_id,
        hook_id=hook["id"],
        version=0 if present is None else present["version"],
        event_id=event_id,
        repo_id=hook["repo_id"],
        url=hook["url"],
        **(usual | given),
    )


__all__ = ["BODY", "DEAD", "HEAD", "OPERATING", "SECRET", "World", "deliver", "hook"]
