"""Events that the hub writes itself: changes made through the API, and snapshots of the state."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from store import json_bytes
from store.database import uuid7
from store.database.connection import Connection
from store.delivery import deliveries
from store.delivery.events import accept_all, insert
from store.delivery.incoming import (
    EXAMPLE_SOURCE,
    LOCAL_SOURCE,
    REPUBLISHED_SOURCE,
    IncomingEvent,
    Receipt,
)

MARK = {"republished": True}


@dataclass(slots=True)
class SnapshotEvent:
    """The state of an object, to be sent as the event `name` or `name.action`.

    If `only_hook` is given, only that hook gets it.
    """

    event: str
    repo_id: int
    payload: dict[str, Any]
    only_hook: int | None = None


def emit(
    db: Connection,
    name: str,
    action: str | None,
    repo_id: int,
    payload: dict[str, Any],
    *,
    only_hook: int | None = None,
    also_hook: int | None = None,
) -> Receipt:
    """Write an event about a change made through the API, in the transaction of the change.

    With `only_hook`, that hook alone gets it, whether it subscribes to it or not, as for a ping.
    `also_hook` gets it beside the hooks that subscribe to it.
    """
    arrival = make_event(name, action, repo_id, payload)
    if only_hook is not None:
        return _send_alone(db, arrival, only_hook)
    (receipt,) = accept_all(db, [arrival])
    if also_hook is not None:
        deliveries.enqueue(db, receipt.event_id, also_hook, repo_id, in_order=arrival.body)
        receipt.deliveries += 1
    return receipt


def republish(db: Connection, states: Sequence[SnapshotEvent]) -> None:
    """Write snapshots as events, marked so that receivers do not take them for changes."""
    arrivals = [make_event(*_parts(one.event), one.repo_id, MARK | one.payload) for one in states]
    for arrival in arrivals:
        arrival.source_id = REPUBLISHED_SOURCE
    everybody = [one.only_hook is None for one in states]
    accept_all(db, [*itertools.compress(arrivals, everybody)])
    for arrival, one in zip(arrivals, states, strict=True):
        if one.only_hook is not None:
            _send_alone(db, arrival, one.only_hook)


def send_example(
    db: Connection,
    name: str,
    action: str | None,
    repo_id: int,
    body: bytes,
    hook_id: int,
    *,
    org_id: int = 0,
) -> Receipt:
    """Write an example of an event, which this hook alone gets. It is no change of the state.

    `org_id` is the organization of an event that belongs to no repository.
    """
    arrival = IncomingEvent(
        repo_id, uuid7.new(), repo_id, name, body, action, source_id=EXAMPLE_SOURCE, org_id=org_id
    )
    return _send_alone(db, arrival, hook_id)


def _parts(event: str) -> tuple[str, str | None]:
    name, _, action = event.partition(".")
    return name, action or None


def _send_alone(db: Connection, arrival: IncomingEvent, hook_id: int) -> Receipt:
    (event_id,) = insert(db, [arrival]).values()
    # A snapshot must not overtake the changes before it. A ping is a test and waits for nothing.
    in_order = arrival.source_id == REPUBLISHED_SOURCE
    deliveries.enqueue(
        db, event_id, hook_id, arrival.repo_id, in_order=arrival.body if in_order else None
    )
    return Receipt(event_id, arrival.guid, 1, False)


def emit_many(
    db: Connection, name: str, action: str | None, changes: Sequence[tuple[int, dict[str, Any]]]
) -> None:
    """Write many changes as events. Each is a repository's id (0: none) and a payload."""
    accept_all(db, [make_event(name, action, repo_id, payload) for repo_id, payload in changes])


def make_event(
    name: str, action: str | None, repo_id: int, payload: dict[str, Any]
) -> IncomingEvent:
    """Return a change as an event. Without a repository, the payload may have an organization."""
    body = json_bytes.dumps(payload if action is None else {"action": action, **payload})
    arrival = IncomingEvent(
        repo_id, uuid7.new(), repo_id, name, body, action, source_id=LOCAL_SOURCE
    )
    if not repo_id and "organization" in payload:
        arrival.org_id = payload["organization"]["id"]
    if "installation" in payload:
        arrival.installation_id = payload["installation"]["id"]
    return arrival
