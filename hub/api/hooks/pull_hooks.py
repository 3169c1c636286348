"""Deliveries that the receivers of pull hooks fetch: leases, answers, and who fetches.

The URL of a pull hook is `pull:` and a name.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from hub.api.hooks.hook_access import READ_HOOK, WRITE_HOOK, HookOperations
from hub.api.hooks.pull_bodies import (
    Answer,
    Answers,
    Expiry,
    Extension,
    FetchRequest,
    HookConsumer,
    LeasedDeliveries,
    LeasedDelivery,
    RejectedLeases,
)
from hub.rest.context import Context
from hub.rest.fetching.long_polls import NothingYet
from hub.rest.fetching.pull_queue import PullQueue
from hub.rest.operation import FrequentOptions
from hub.rest.serializers import EmptyObject
from store import Row
from store.clock import SECOND, iso
from store.errors import Invalid, Unavailable
from store.hooks import pull_urls
from store.pull import consumers
from store.pull.fetching import Acknowledgement, Fetch, FetchedDelivery, Rejection

hook_ops = HookOperations()
ops = hook_ops.group

DEFAULT_LEASE = 60
ANONYMOUS = "anonymous"
# A receiver asks as often as there are deliveries: it spends no hourly limit, and few points. While
# it waits for a delivery, it does not count as a concurrent request.
# Attempts are the record of what it does.
FETCHING: FrequentOptions = {
    "status": 200,
    "errors": (409, 422),
    "category": "",
    "points": 1,
    "audited": False,
}


def _waits(found: Mapping[str, Any], body: FetchRequest) -> tuple[int, float]:
    return found["hook"]["id"], body.get("max_wait", 0.0)


@hook_ops("POST /dequeue", WRITE_HOOK, waits=_waits, **FETCHING)
def dequeue_webhook_deliveries(
    ctx: Context, hook: Row, body: FetchRequest
) -> LeasedDeliveries | NothingYet:
    """Fetch deliveries of a pull webhook

    Each delivery is leased to the consumer for `lease_seconds` (default 60, at most 3600), and is
    meant to be acknowledged in that time. If the lease expires, that is a failed attempt, and the
    delivery is retried like any other. If there is no delivery, the request waits up to `max_wait`
    seconds (at most 60) and then returns an empty list. `batch` is the maximum of deliveries
    (default 1, at most 100). 422 if the hook's URL does not begin with `pull:`.
    """
    wanted = Fetch(
        body.get("consumer", ANONYMOUS),
        body.get("batch", 1),
        body.get("lease_seconds", DEFAULT_LEASE),
    )
    pull_queue = _queue(ctx, hook)
    found = pull_queue.fetch(ctx.db, hook, wanted)
    if not found and not ctx.last_try:
        return NothingYet(pull_queue.next_at(ctx.db, hook))
    return {"deliveries": [_serialize(one) for one in found]}


def _queue(ctx: Context, hook: Row) -> PullQueue:
    if not pull_urls.is_pull(hook["url"]):
        raise Invalid(
            "the hub pushes this hook's deliveries: only a hook whose URL is pull: and a name can"
            " be fetched from",
            field="hook_id",
            code="unprocessable",
            resource="Hook",
        )
    if ctx.pull_queue is None:
        raise Unavailable("this process serves no pull hooks")
    return ctx.pull_queue


def _serialize(one: FetchedDelivery) -> LeasedDelivery:
    return {
        "lease_id": one.lease_id,
        "guid": one.guid,
        "event": one.event,
        "attempt": one.number,
        "redelivery": one.redelivery,
        "expires_at": iso(one.expires_at),
        "headers": one.headers,
        "body": b64encode(one.body).decode(),
    }


@hook_ops("POST /ack", WRITE_HOOK, bodies=8, **FETCHING)
def acknowledge_webhook_deliveries(ctx: Context, hook: Row, body: Answers) -> EmptyObject:
    """Acknowledge deliveries of a pull webhook

    Records each answer as an attempt, as if the hub had sent the delivery: a status of 2xx delivers
    it, and any other one is a failure, after which it is retried. Retry-After and webhook-delivery
    in `headers` count too. Repeating a request changes nothing. 409 if a lease is stale, because it
    has expired or was rejected; then nothing is recorded.
    """
    pull_queue = _queue(ctx, hook)
    pull_queue.touch(ctx.db, hook, [one["lease_id"] for one in body["leases"]])
    pull_queue.acknowledge(ctx.db, hook, [_acknowledgement(one) for one in body["leases"]])
    return {}


def _acknowledgement(answer: Answer) -> Acknowledgement:
    duration = answer.get("duration")
    return Acknowledgement(
        answer["lease_id"],
        answer.get("status", 200),
        None if duration is None else round(duration * SECOND),
        tuple(answer.get("headers", {}).items()),
        answer.get("body", "").encode(),
    )


@hook_ops("POST /nack", WRITE_HOOK, **FETCHING)
def reject_webhook_deliveries(ctx: Context, hook: Row, body: RejectedLeases) -> EmptyObject:
    """Reject deliveries of a pull webhook

    Records a failed attempt with the `reason`. The delivery is retried by the hook's schedule, or
    after `delay` seconds. With `dead`, it is not retried. Repeating a request changes nothing. 409
    if a lease is stale; then nothing is recorded.
    """
    pull_queue = _queue(ctx, hook)
    pull_queue.touch(ctx.db, hook, [one["lease_id"] for one in body["leases"]])
    pull_queue.reject(
        ctx.db,
        hook,
        [
            Rejection(
                one["lease_id"],
                one.get("reason", "rejected"),
                one.get("delay"),
                one.get("dead", False),
            )
            for one in body["leases"]
        ],
    )
    return {}


@hook_ops("POST /extend", WRITE_HOOK, **FETCHING)
def extend_webhook_leases(ctx: Context, hook: Row, body: Extension) -> Expiry:
    """Extend leases of a pull webhook

    The leases then expire `lease_seconds` seconds from now. 409 if one is stale; then none is
    extended.
    """
    pull_queue = _queue(ctx, hook)
    pull_queue.touch(ctx.db, hook, body["leases"])
    seconds = body.get("lease_seconds", DEFAULT_LEASE)
    return {"expires_at": iso(pull_queue.extend(ctx.db, hook, body["leases"], seconds))}


@hook_ops("GET /consumers", READ_HOOK)
def list_webhook_consumers(ctx: Context, hook: Row) -> list[HookConsumer]:
    """List consumers of a pull webhook

    The programs that fetched its deliveries within the last day, the latest first, up to 100. If
    two programs fetch from one hook, each gets only a part of the deliveries.
    """
    return [
        {
            "name": row["name"],
            "since": iso(row["since"]),
            "last_seen": iso(row["seen_at"]),
            "attached": row["attached"],
            "leases": row["leases"],
        }
        for row in consumers.of_hook(ctx.db, hook["id"])
    ]
