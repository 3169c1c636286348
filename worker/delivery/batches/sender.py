"""The sender of batches: it groups deliveries of a lane, sends them, and returns their outcomes."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

from store import Store
from store.clock import SECOND
from store.delivery import deliveries
from store.delivery.outcomes.outcome import Outcome
from store.formats import batches
from store.hooks.batch_options import BatchOptions
from store.trace_context import TraceContext
from worker.delivery.batches.groups import claim_followers, seconds_to_fill, take
from worker.delivery.batches.outcomes import is_too_large, outcomes_of
from worker.delivery.batches.request import Member, body_of, element_of, head_of
from worker.delivery.lane import Lane, QueuedDelivery, next_events
from worker.delivery.leased import LeasedDeliveries
from worker.delivery.payload_cache import PayloadCache
from worker.delivery.send import DeliverySender, SendChecks, undeliverable_reason
from worker.delivery.spans import DeliverySpans
from worker.delivery.target import Target
from worker.http.answer import ExchangeResult, Withheld, internal_error

log = logging.getLogger("tocsin.worker")

Result = tuple[QueuedDelivery, Outcome | None]
"""A delivery and its outcome. The outcome is None if the delivery was marked dead instead."""


class BatchSender:
    """The sender of batches.

    `start` starts the deliveries of a lane that the batch has left. `release` returns deliveries of
    a hook under a lease to the store. With `spans`, each request is a span.
    """

    def __init__(
        self,
        store: Store,
        payloads: PayloadCache,
        sender: DeliverySender,
        leased: LeasedDeliveries,
        start: Callable[[Lane], None],
        release: Callable[[int, int, Sequence[int]], None],
        spans: DeliverySpans | None = None,
    ) -> None:
        self._store = store
        self._release = release
        self._payloads = payloads
        self._sender = sender
        self._leased = leased
        self._start = start
        self._spans = spans

    def seconds_to_fill(self, lane: Lane) -> float:
        """Return how long the lane waits until it sends its next batch.

        If the hook may have been edited, its limits have to be read first, without a wait.
        """
        limits = lane.batch
        if limits is None or lane.stale or not lane.queue:
            return 0.0
        return seconds_to_fill(limits, lane.queue, self._store.clock.now())

    async def attempt(
        self,
        target: Target,
        limits: BatchOptions,
        lane: Lane,
        first: QueuedDelivery,
        checks: SendChecks,
    ) -> list[Result]:
        """Make one attempt with `first` and the deliveries of the lane that go with it.

        Raises Busy, Unavailable or Withheld if nothing was sent. All but `first` are then in the
        lane again, or in the store if they are ordered.
        """
        if seconds_to_fill(limits, [first, *lane.queue], self._store.clock.now()) > 0:
            raise Withheld
        group = take(limits, first, lane.queue, lambda: self._leased.pop(lane))
        try:
            group += await claim_followers(
                self._leased, lane.hook_id, first, checks.lease_id, limits.max_events
            )
            members, dropped = await self._members(target, limits, lane, group, checks.lease_id)
            self._start(lane)
            outcomes = await self._send(target, members, lane, checks)
        except BaseException:
            self._put_back(lane, group[1:], checks.lease_id)
            raise
        sent = [(member.item, outcome) for member, outcome in zip(members, outcomes, strict=True)]
        return [*sent, *((item, None) for item in dropped)]

    async def _members(
        self,
        target: Target,
        limits: BatchOptions,
        lane: Lane,
        group: list[QueuedDelivery],
        lease_id: int,
    ) -> tuple[list[Member], list[QueuedDelivery]]:
        """Return the deliveries that fit into the request, and those that cannot be tried.

        The others are removed from the group, and go back to the lane, or to the store if they are
        ordered.
        """
        await self._prefetch(group)
        most = min(limits.max_bytes, lane.batch_bytes or limits.max_bytes)
        members: list[Member] = []
        dropped: list[QueuedDelivery] = []
        size = batches.size(())
        for index, item in enumerate(group):
            ahead = partial(next_events, islice(group, index + 1, None))
            payload = await target.payload(self._payloads, item.event_id, ahead)
            now = self._store.clock.now()
            reason = undeliverable_reason(target, payload, item, now)
            if reason is not None:
                await self._store.write_relaxed(
                    deliveries.mark_dead, lease_id, [item.delivery_id], reason
                )
                dropped.append(item)
                continue
            assert payload is not None
            member = Member(item, payload, element_of(target, payload, now))
            size += len(member.element) + batches.BETWEEN
            # One header marks all events of a request as republished, so a batch never mixes them
            # with others.
            if members and (size > most or payload.republished != members[0].payload.republished):
                self._put_back(lane, group[index:], lease_id)
                del group[index:]
                break
            members.append(member)
        return members, dropped

    async def _prefetch(self, group: Sequence[QueuedDelivery]) -> None:
        """Read the payloads that are not in memory together, if each read is a round trip."""
        missing = [item.event_id for item in group if item.event_id not in self._payloads]
        if len(missing) > 1 and not self._store.engine.inline:
            # The cache keeps what it has room for. Keeping all here could take too much memory.
            await asyncio.gather(*(self._read(event_id) for event_id in missing))

    async def _read(self, event_id: int) -> None:
        await self._payloads.get(event_id)

    def _put_back(self, lane: Lane, items: Sequence[QueuedDelivery], lease_id: int) -> None:
        if items and items[0].turn is not None:
            # Followers are claimed with the first delivery of their key. The next attempt may begin
            # with another one, so they go back to the store.
            ids = [item.delivery_id for item in items]
            self._leased.finish(ids)
            self._release(lane.hook_id, lease_id, ids)
            return
        for item in reversed(items):
            self._leased.requeue(lane, item, lease_id)

    async def _send(
        self,
        target: Target,
        members: Sequence[Member],
        lane: Lane,
        checks: SendChecks,
    ) -> list[Outcome]:
        if not members:
            return []
        if self._spans is None:
            return await self._exchange(target, members, lane, checks, None)
        payloads = (member.payload for member in members)
        span = self._spans.start_batch(payloads, self._store.clock.now())
        outcomes = await self._exchange(target, members, lane, checks, span.context)
        self._spans.end_batch(span, target, outcomes)
        return outcomes

    async def _exchange(
        self,
        target: Target,
        members: Sequence[Member],
        lane: Lane,
        checks: SendChecks,
        trace: TraceContext | None,
    ) -> list[Outcome]:
        """Send the request. `trace` is the place of the request in a trace, not of its events."""
        clock = self._store.clock.now
        started = clock()
        timestamp = started // SECOND
        first = members[0].item.delivery_id
        overlap = target.signatures.overlap_at(timestamp)
        new_first = overlap is not None and overlap.new_first(first)
        head, body, answer = "", body_of(members), ExchangeResult()
        try:
            plain = head_of(target, members, body, timestamp, new_first=new_first)
            if trace is not None:
                plain = target.with_trace(plain, trace)
            head = plain if target.access is None else target.access.recorded_head(plain)
            answer = await self._sender.request(target, plain, body, checks)
        except Withheld:
            raise
        except Exception as error:
            # A programming error costs this attempt only: the deliveries are retried by schedule.
            log.exception("%d deliveries to hook %d", len(members), lane.hook_id)
            answer.error = internal_error(error)
        if is_too_large(members, answer):
            lane.batch_bytes = len(body) // 2
        outcomes = outcomes_of(
            target, members, lane.hook_id, checks.lease_id, answer, head, started, clock()
        )
        if overlap is not None:
            outcomes[0].taken = overlap.learn(first, new_first, answer.status)
        return outcomes
