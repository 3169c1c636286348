"""One attempt: build the request, send it, judge the answer, say what is to be recorded."""

import logging
from collections.abc import Callable

import orjson

from store.clock import SECOND
from store.delivery.attempts import Outcome
from worker.delivery.lane import QueuedDelivery
from worker.delivery.payload_cache import Payload
from worker.delivery.policy import decide
from worker.delivery.target import MASK, Target
from worker.http.answer import MAX_BODY, ExchangeResult, Withheld
from worker.http.transport import HttpSender

log = logging.getLogger("tocsin.worker")

# PostgreSQL takes no NUL in a text, and no screen shows one.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Answers may carry what is nobody's business but the receiver's.
SENSITIVE_HEADERS = ("set-cookie", "set-cookie2", "authorization", "proxy-authorization", "cookie")


async def send(
    poster: HttpSender,
    target: Target,
    content: Payload,
    item: QueuedDelivery,
    *,
    hook_id: int,
    lease_id: int,
    clock: Callable[[], int],
    may_send: Callable[[], bool],
    may_reach: Callable[[str], bool],
) -> Outcome:
    """Make one attempt at a delivery; whatever goes wrong with it is in what is returned. Withheld
    where it may not be sent any more, or not now (worker.http.transport.Poster).
    """
    started = clock()
    head, answer = "", ExchangeResult()
    timestamp = started // SECOND
    overlap = target.overlap
    if overlap is not None and not overlap.is_active(timestamp):
        overlap = None
    new_first = overlap is not None and overlap.new_first(item.delivery_id)
    try:
        body = content.body_as(target.content_type)
        head = target.head(content, body, timestamp, new_first=new_first)
        answer = await _post(poster, target, head, body, may_send, may_reach)
    except Withheld:
        raise
    except Exception as error:
        # A mistake of ours costs the attempt: what is tried again by schedule is not lost.
        log.exception("delivery %d to hook %d", item.delivery_id, hook_id)
        answer.error = f"internal: {type(error).__name__}: {error}"
    outcome = _outcome(target, item, hook_id, lease_id, answer, head, started, clock())
    if overlap is not None:
        outcome.taken = overlap.learn(item.delivery_id, new_first, answer.status)
    if not item.redelivery:
        outcome.accepted_at = content.accepted_at
    return outcome


async def _post(
    poster: HttpSender,
    target: Target,
    head: str,
    body: bytes,
    may_send: Callable[[], bool],
    may_reach: Callable[[str], bool],
) -> ExchangeResult:
    if target.endpoint is None:
        answer = ExchangeResult()
        answer.error = target.refusal
        return answer
    return await poster.post(
        target.endpoint,
        head.encode("latin-1"),
        body,
        deadline=target.policy.timeout,
        verify_tls=target.verify_tls,
        keep=MAX_BODY,
        may_send=may_send,
        may_reach=may_reach,
    )


def _outcome(
    target: Target,
    item: QueuedDelivery,
    hook_id: int,
    lease_id: int,
    answer: ExchangeResult,
    head: str,
    started: int,
    ended: int,
) -> Outcome:
    number = item.attempts + 1
    received = None if answer.status is None else _readable_head(target, answer)
    delivered = answer.status is not None and 200 <= answer.status < 300
    verdict = decide(
        target.policy,
        number,
        answer.status,
        answer.error,
        None if received is None or delivered else header_value(received, "retry-after"),
        ended,
    )
    return Outcome(
        lease_id=lease_id,
        delivery_id=item.delivery_id,
        hook_id=hook_id,
        event_id=item.event_id,
        repo_id=target.repo_id,
        number=number,
        redelivery=int(item.redelivery or number > 1),
        started_at=started,
        duration=answer.timings.get("total", max(ended - started, 0)),
        status_code=answer.status,
        error=answer.error,
        url=target.url,
        address=answer.address,
        timings=orjson.dumps(answer.timings).decode(),
        request_head=head,
        response_head=received,
        response_body=None if answer.status is None else _readable(target, answer.body),
        state=verdict.state,
        due_at=verdict.due_at,
        disable=verdict.disable,
        disable_after=round(target.policy.disable_after * SECOND),
    )


def _readable(target: Target, body: bytes) -> str:
    return target.mask(body.decode("utf-8", "replace").replace("\0", REPLACEMENT))


def _readable_head(target: Target, answer: ExchangeResult) -> str:
    text = _readable(target, answer.head)
    lowered = text.lower()
    if "cookie" not in lowered and "authorization" not in lowered:
        return text
    return "\r\n".join(_masked(line) for line in text.split("\r\n"))


def _masked(line: str) -> str:
    name, colon, _ = line.partition(":")
    return f"{name}: {MASK}" if colon and name.strip().lower() in SENSITIVE_HEADERS else line


def header_value(head: str, name: str) -> str | None:
    """The first value of a header in a block of header lines."""
    for line in head.split("\r\n"):
        key, colon, value = line.partition(":")
        if colon and key.lower() == name:
            return value.strip()
    return None
