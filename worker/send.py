"""One attempt: build the request, send it, judge the answer, say what is to be recorded."""

import logging
from collections.abc import Callable

import orjson

from store.attempts import Outcome
from store.clock import SECOND
from worker.answer import KEEP, Answer
from worker.content import Content
from worker.lane import Item
from worker.policy import judge
from worker.target import MASK, Target
from worker.transport import Poster

log = logging.getLogger("tocsin.worker")

# PostgreSQL takes no NUL in a text, and no screen shows one.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Answers may carry what is nobody's business but the receiver's.
PRIVATE = ("set-cookie", "set-cookie2", "authorization", "proxy-authorization", "cookie")


async def send(
    poster: Poster,
    target: Target,
    content: Content,
    item: Item,
    *,
    hook_id: int,
    lease_id: int,
    clock: Callable[[], int],
) -> Outcome:
    """Make one attempt at a delivery; whatever goes wrong with it is in what is returned."""
    started = clock()
    head, answer = "", Answer()
    moved = target.overlap is not None and target.overlap.moved
    try:
        body = content.bytes_for(target.content_type)
        head = target.head(content, body, started // SECOND)
        answer = await _post(poster, target, head, body)
    except Exception as error:
        # A mistake of ours costs the attempt: what is tried again by schedule is not lost.
        log.exception("delivery %d to hook %d", item.delivery_id, hook_id)
        answer.error = f"internal: {type(error).__name__}: {error}"
    if target.overlap is not None:
        target.overlap.learn(moved, answer.status)
    outcome = _outcome(target, item, hook_id, lease_id, answer, head, started, clock())
    if not item.redelivery:
        outcome.accepted_at = content.accepted_at
    return outcome


async def _post(poster: Poster, target: Target, head: str, body: bytes) -> Answer:
    if target.endpoint is None:
        answer = Answer()
        answer.error = target.refusal
        return answer
    return await poster.post(
        target.endpoint,
        head.encode("latin-1"),
        body,
        deadline=target.policy.timeout,
        verify_tls=target.verify_tls,
        keep=KEEP,
    )


def _outcome(
    target: Target,
    item: Item,
    hook_id: int,
    lease_id: int,
    answer: Answer,
    head: str,
    started: int,
    ended: int,
) -> Outcome:
    number = item.attempts + 1
    received = None if answer.status is None else _readable_head(target, answer)
    delivered = answer.status is not None and 200 <= answer.status < 300
    verdict = judge(
        target.policy,
        number,
        answer.status,
        answer.error,
        None if received is None or delivered else header(received, "retry-after"),
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
        patience=round(target.policy.disable_after * SECOND),
    )


def _readable(target: Target, body: bytes) -> str:
    return target.mask(body.decode("utf-8", "replace").replace("\0", REPLACEMENT))


def _readable_head(target: Target, answer: Answer) -> str:
    text = _readable(target, answer.head)
    lowered = text.lower()
    if "cookie" not in lowered and "authorization" not in lowered:
        return text
    return "\r\n".join(_masked(line) for line in text.split("\r\n"))


def _masked(line: str) -> str:
    name, colon, _ = line.partition(":")
    return f"{name}: {MASK}" if colon and name.strip().lower() in PRIVATE else line


def header(head: str, name: str) -> str | None:
    """The first value of a header in a block of header lines."""
    for line in head.split("\r\n"):
        key, colon, value = line.partition(":")
        if colon and key.lower() == name:
            return value.strip()
    return None
