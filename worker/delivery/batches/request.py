"""The request of a batch: its body, and its head."""

from collections.abc import Sequence
from typing import NamedTuple

from store.formats import batches
from store.formats.formats import HEADER, PLATFORM
from worker.delivery.lane import QueuedDelivery
from worker.delivery.ordering_headers import with_ordering
from worker.delivery.payload import Payload
from worker.delivery.target import REPUBLISHED, Target


class Member(NamedTuple):
    """A delivery of a batch, with its event and its element in the body."""

    item: QueuedDelivery
    payload: Payload
    element: bytes


def element_of(target: Target, payload: Payload, now: int) -> bytes:
    """Return an event as an element of a batch for this target. `now` is in microseconds."""
    if target.format != PLATFORM:
        return target.render(payload, now).body
    trace = payload.trace if target.propagates else None
    more = {} if trace is None else trace.members()
    return batches.element(payload.name, payload.guid, payload.body, more)


def body_of(members: Sequence[Member]) -> bytes:
    return batches.join([member.element for member in members])


def head_of(
    target: Target,
    members: Sequence[Member],
    body: bytes,
    timestamp: int,
    *,
    new_first: bool = False,
) -> str:
    """Return the whole head of a request with these deliveries.

    The headers about one event are left out, because each element has them. `timestamp` is in
    seconds. If `new_first`, the newer of two secrets signs first.
    """
    batch_id = batches.batch_id(member.payload.guid for member in members)
    lines = [
        target.static_head,
        f"webhook-id: {batch_id}\r\nwebhook-timestamp: {timestamp}\r\n"
        f"{batches.HEADER}: {len(members)}\r\nContent-Length: {len(body)}\r\n",
    ]
    if target.format != PLATFORM:
        lines.append(f"{HEADER}: {target.format}\r\n")
    if members[0].payload.republished:
        lines.append(REPUBLISHED)
    lines.append(target.signatures.headers(batch_id, body, timestamp, new_first=new_first))
    lines.append("\r\n")
    head = "".join(lines)
    turns = [member.item.turn for member in members if member.item.turn is not None]
    return with_ordering(head, *turns) if turns else head
