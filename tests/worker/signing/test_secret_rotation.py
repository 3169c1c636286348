"""Rotation of a hook's secret: during the overlap, receivers with either secret can verify."""

import asyncio
import hashlib
import hmac
import json
from base64 import b64encode
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import Any

import pytest
from receivers import Call, serving
from standardwebhooks import Webhook, WebhookVerificationError
from waiting import PATIENCE, until
from worker_harness import Post, WorkerHarness, said

from store.clock import SECOND, MovableClock
from store.hooks import hook_secrets
from store.hooks.hook_secrets import Taken
from worker.jobs.prune import prune
from worker.settings import WorkerSettings
from worker.signing import secret_rotation
from worker.signing.sign import Signer

OLD, NEW = "the former one", "whsec_" + b64encode(b"n" * 24).decode()
DAY = 86_400
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
NO = b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n"


def by(secret: str, body: bytes, kind: str = "sha256") -> str:
    return f"{kind}=" + hmac.new(secret.encode(), body, getattr(hashlib, kind)).hexdigest()


class Strict:
    """A handler that knows one secret and checks one header, as most receivers do."""

    def __init__(self, secret: str, header: str = "X-Hub-Signature-256") -> None:
        self.secret, self.header, self.refusal = secret, header, 401
        self.verified: list[bool] = []

    async def __call__(self, call: Call) -> None:
        while True:
            await call.request()
            lines = BytesHeaderParser().parsebytes(call.receiver.heads[-1].partition(b"\r\n")[2])
            body = call.receiver.bodies[-1]
            kind = "sha1" if self.header == "X-Hub-Signature" else "sha256"
            good = lines.get_all(self.header) == [by(self.secret, body, kind)]
            self.verified.append(good)
            await call.say(OK if good else NO % self.refusal)


async def overlapping(harness: WorkerHarness, url: str | None = None, **settings: Any) -> int:
    """Create a hook, exchange its secret, and start a worker. Return the hook's id."""
    hook_id = harness.hook(url, secret=OLD)
    harness.edit(hook_id, secret=NEW, overlap=DAY * SECOND)
    await harness.work(**settings)
    return hook_id


async def events(harness: WorkerHarness, count: int) -> None:
    """Store `count` events, one after the other. Wait until each is delivered."""
    for _ in range(count):
        known = harness.counts()["delivered"]
        await harness.event(b'{"a":1}')
        await until(lambda known=known: harness.counts()["delivered"] > known)


@pytest.mark.parametrize("header", ["X-Hub-Signature-256", "X-Hub-Signature"])
async def test_a_receiver_with_the_former_secret_misses_nothing(
    harness: WorkerHarness, header: str
) -> None:
    """The receiver accepts each delivery at the first attempt, with the former secret."""
    receiver = Strict(OLD, header)
    async with serving(receiver) as server:
        await overlapping(harness, server.url, real=True)
        await events(harness, 5)
        await harness.rest()
    assert receiver.verified == [True] * 5


async def test_a_receiver_with_the_new_secret_refuses_once(harness: WorkerHarness) -> None:
    """The receiver refuses one delivery, accepts its retry after 5 s, and refuses no later one."""
    receiver = Strict(NEW)
    async with serving(receiver) as server:
        hook_id = await overlapping(harness, server.url, real=True)
        await harness.event()
        await harness.recorded(hook_id, 1)
        await harness.pass_time(5)
        await harness.over(delivered=1)
        await events(harness, 5)
        # After an edit the worker reads the hook again, and still knows the accepted secret.
        harness.edit(hook_id, events=["push", "issues"])
        await events(harness, 2)
        await harness.rest()
    assert receiver.verified == [False] + [True] * 8


@pytest.mark.parametrize("refusal", [400, 401, 403, 404, 422])
async def test_a_receiver_can_exchange_its_secret_meanwhile(
    harness: WorkerHarness, refusal: int
) -> None:
    receiver = Strict(OLD)
    receiver.refusal = refusal
    async with serving(receiver) as server:
        hook_id = await overlapping(harness, server.url, real=True)
        await events(harness, 2)
        receiver.secret = NEW
        await harness.event()
        await harness.recorded(hook_id, 3)
        await harness.pass_time(5)
        await harness.over(delivered=3)
        await events(harness, 2)
        await harness.rest()
    assert receiver.verified == [True, True, False, True, True, True]


async def test_a_receiver_that_looks_at_both_headers(harness: WorkerHarness) -> None:
    """Each attempt has the signatures by both secrets, however many attempts were refused."""
    hook_id = await overlapping(harness)
    answers = [said(401), said(401), said(401), said()]
    harness.network.script = lambda post: answers.pop(0)
    await harness.event()
    for number, seconds in enumerate((5, 300, 1800), 1):
        await harness.recorded(hook_id, number)
        await harness.pass_time(seconds)
    await harness.over(delivered=1)
    firsts = []
    for post in harness.network.posts:
        first = post.headers["x-hub-signature-256"]
        assert {first, post.headers["x-hub-signature-256-alternate"]} == {
            by(OLD, post.body),
            by(NEW, post.body),
        }
        same = OLD if first == by(OLD, post.body) else NEW
        assert post.headers["x-hub-signature"] == by(same, post.body, "sha1")
        firsts.append(same)
    assert firsts == [OLD, NEW, OLD, NEW]


@pytest.mark.parametrize("answer", [said(500), said(408), said(429), said(413), said(302),
                                    said(error="connect: refused")])  # fmt: skip
async def test_other_failures_keep_the_former_secret(harness: WorkerHarness, answer: Any) -> None:
    answers = [answer, said()]
    harness.network.script = lambda post: answers.pop(0)
    hook_id = await overlapping(harness)
    await harness.event()
    await harness.recorded(hook_id, 1)
    await harness.pass_time(60)
    await harness.over(delivered=1)
    for post in harness.network.posts:
        assert post.headers["x-hub-signature-256"] == by(OLD, post.body)


async def test_concurrent_refusals_change_the_secret_once(harness: WorkerHarness) -> None:
    def strict(post: Post) -> Any:
        good = post.headers["x-hub-signature-256"] == by(NEW, post.body)
        return said() if good else said(401)

    harness.network.script = strict
    await overlapping(harness)
    await harness.events(20)
    await until(lambda: harness.counts()["delivered"] > 0)
    await harness.pass_time(5)
    await harness.over(delivered=20)
    refused = len(harness.network.posts) - 20
    assert 0 < refused <= 4, "only requests in flight at the first refusal are refused"


@pytest.mark.parametrize("secret", [OLD, NEW])
async def test_standard_webhooks_by_their_package(tmp_path: Path, url: str, secret: str) -> None:
    """The package verifies each attempt with either secret, before and after a refusal."""
    harness = WorkerHarness(
        tmp_path, MovableClock(), url
    )  # the package compares the timestamp with the system clock
    key = secret if secret == NEW else b64encode(secret.encode()).decode()
    answers = [said(), said(401), said()]
    harness.network.script = lambda post: answers.pop(0)
    try:
        hook_id = await overlapping(harness)
        await events(harness, 1)
        await harness.event(b'{"a":1}')
        await harness.recorded(hook_id, 2)
        await harness.pass_time(5)
        await harness.over(delivered=2)
        assert len(harness.network.posts) == 3
        for post in harness.network.posts:
            body = post.body.decode()
            assert Webhook(key).verify(body, post.headers) == json.loads(body)
            with pytest.raises(WebhookVerificationError):
                Webhook(b64encode(b"another").decode()).verify(body, post.headers)
    finally:
        await harness.close()


def only(secret: str, post: Post) -> bool:
    assert "x-hub-signature-256-alternate" not in post.headers
    assert " " not in post.headers["webhook-signature"]
    return post.headers["x-hub-signature-256"] == by(secret, post.body)


async def test_when_it_is_over(harness: WorkerHarness) -> None:
    await overlapping(harness)
    await events(harness, 1)
    await harness.advance(DAY - 1)
    await events(harness, 1)
    assert "x-hub-signature-256-alternate" in harness.network.posts[-1].headers
    await harness.advance(1)
    await events(harness, 1)
    assert only(NEW, harness.network.posts[-1])


async def test_an_overlap_can_be_ended(harness: WorkerHarness) -> None:
    hook_id = await overlapping(harness)
    await events(harness, 1)
    harness.edit(hook_id, overlap=0)
    await events(harness, 1)
    assert only(NEW, harness.network.posts[-1])


async def test_without_an_overlap_the_new_secret_signs_alone(harness: WorkerHarness) -> None:
    hook_id = harness.hook(secret=OLD)
    harness.edit(hook_id, secret=NEW)
    await harness.work()
    await events(harness, 1)
    assert only(NEW, harness.network.posts[-1])
    harness.edit(hook_id, secret=None)
    await events(harness, 1)
    assert not [name for name in harness.network.posts[-1].headers if "signature" in name]


async def test_neither_secret_is_recorded_or_shown(harness: WorkerHarness) -> None:
    harness.network.script = lambda post: said(200, body=f"I know {OLD} and {NEW}".encode())
    hook_id = await overlapping(harness)
    await harness.event()
    (row,) = await harness.recorded(hook_id, 1)
    assert row["response_body"] == "I know ******** and ********"
    assert harness.worker is not None
    shown = repr(harness.worker.dispatcher.lanes)
    assert OLD not in shown
    assert NEW not in shown


async def test_a_former_secret_that_does_not_open_is_passed_over(harness: WorkerHarness) -> None:
    hook_id = harness.hook(secret=OLD)
    harness.edit(hook_id, secret=NEW, overlap=DAY * SECOND)
    harness.store.write_sync(
        lambda db: db.execute("UPDATE hook SET previous_secret = :x", x=b"damaged")
    )
    await harness.work()
    await events(harness, 1)
    assert only(NEW, harness.network.posts[-1])


async def test_the_former_secret_is_deleted_after_the_overlap(harness: WorkerHarness) -> None:
    hook_id = harness.hook(secret=OLD)
    other = harness.hook(secret=OLD)
    harness.edit(hook_id, secret=NEW, overlap=DAY * SECOND)
    harness.edit(other, secret=NEW, overlap=2 * DAY * SECOND)
    harness.clock.advance(DAY)
    await prune(harness.store, WorkerSettings())
    assert harness.hook_row(hook_id)["previous_secret"] is None
    assert harness.hook_row(hook_id)["previous_until"] is None
    assert harness.hook_row(other)["previous_secret"] is not None
    assert (
        harness.store.read_sync(hook_secrets.previous_secret, harness.hook_row(other)) is not None
    )


async def refused_once(harness: WorkerHarness, hook_id: int) -> None:
    """Let a receiver with only the new secret refuse a delivery and accept its next attempt."""
    harness.network.script = knows(NEW)
    await harness.event()
    await harness.recorded(hook_id, 1)
    await harness.pass_time(5)
    await harness.over(delivered=1)
    assert signed(harness.network.posts) == [OLD, NEW]
    await until(lambda: harness.hook_row(hook_id)["secret_taken"] == 1)
    harness.network.posts.clear()


def knows(*secrets: str, otherwise: int = 401) -> Any:
    """A script that accepts requests whose first signature is by one of these secrets."""

    def answer(post: Post) -> Any:
        first = post.headers["x-hub-signature-256"]
        return said() if first in {by(secret, post.body) for secret in secrets} else said(otherwise)

    return answer


def signed(posts: list[Post]) -> list[str]:
    """The secret of the first signature of each request."""
    firsts = {by(OLD, post.body): OLD for post in posts} | {
        by(NEW, post.body): NEW for post in posts
    }
    return [firsts[post.headers["x-hub-signature-256"]] for post in posts]


async def test_the_accepted_secret_outlives_the_lane(harness: WorkerHarness) -> None:
    hook_id = await overlapping(harness)
    await refused_once(harness, hook_id)
    for _ in range(3):
        assert harness.worker is not None
        await until(lambda: harness.worker is not None and harness.worker.dispatcher.in_flight == 0)
        async with asyncio.timeout(PATIENCE):
            # A claim may be under way for a moment. A scan of SQLite never suspends, so without the
            # pause that claim could not end.
            while hook_id in harness.worker.dispatcher.lanes:
                await harness.worker.lease.scan()
                await asyncio.sleep(0.01)
        await events(harness, 1)
    assert signed(harness.network.posts) == [NEW] * 3


async def test_the_accepted_secret_survives_a_crash(harness: WorkerHarness) -> None:
    hook_id = await overlapping(harness)
    await refused_once(harness, hook_id)
    harness.crash()
    await harness.work()
    await events(harness, 2)
    assert signed(harness.network.posts) == [NEW] * 2


async def test_the_accepted_secret_holds_for_another_worker(harness: WorkerHarness) -> None:
    """A worker that signed by the former secret follows the decision that another one stored."""
    hook_id = await overlapping(harness)
    await events(harness, 1)
    target = next(iter(harness.worker.dispatcher.lanes)).target if harness.worker else None
    assert target is not None
    overlap = target.signatures.overlap
    assert overlap is not None
    assert not overlap.confirmed
    row = harness.hook_row(hook_id)
    harness.store.write_sync(hook_secrets.learn, hook_id, Taken(row["previous_until"], new=True))
    harness.network.posts.clear()
    await events(harness, 2)
    assert signed(harness.network.posts) == [NEW] * 2


async def test_the_accepted_secret_ends_with_the_next_exchange(harness: WorkerHarness) -> None:
    hook_id = await overlapping(harness)
    await refused_once(harness, hook_id)
    until_then = harness.hook_row(hook_id)["previous_until"]
    harness.edit(hook_id, secret="a third one", overlap=DAY * SECOND)
    assert harness.hook_row(hook_id)["secret_taken"] == 0
    harness.clock.advance(1)
    late = Taken(until_then - 1, new=True)
    harness.store.write_sync(hook_secrets.learn, hook_id, late)
    assert harness.hook_row(hook_id)["secret_taken"] == 0, (
        "the decision is about an earlier overlap"
    )
    await events(harness, 1)
    assert signed(harness.network.posts) == [NEW], "NEW is the former secret now, and signs first"


async def test_a_refused_delivery_changes_the_secret_of_no_other(harness: WorkerHarness) -> None:
    """A receiver that has accepted the new secret may refuse an event because of its content."""
    hook_id = await overlapping(harness)
    await refused_once(harness, hook_id)
    verifies = knows(NEW)
    harness.network.script = lambda post: said(422) if post.body == b'"bad"' else verifies(post)
    await harness.event(b'"bad"')
    await harness.recorded(hook_id, 3)
    await events(harness, 3)
    assert signed(harness.network.posts) == [NEW] * 4
    await harness.pass_time(5)
    await harness.recorded(hook_id, 7)
    assert signed(harness.network.posts)[4:] == [OLD], (
        "the former secret is tried only for the refused delivery"
    )
    await events(harness, 1)
    assert signed(harness.network.posts)[5:] == [NEW]


async def test_a_receiver_can_go_back_to_the_former_secret(harness: WorkerHarness) -> None:
    """The receiver refuses one attempt, and no later one."""
    hook_id = await overlapping(harness)
    await refused_once(harness, hook_id)
    harness.network.script = knows(OLD)
    await harness.event()
    await harness.recorded(hook_id, 3)
    await harness.pass_time(5)
    await harness.over(delivered=2)
    await until(lambda: harness.hook_row(hook_id)["secret_taken"] == 0)
    await events(harness, 3)
    assert signed(harness.network.posts) == [NEW] + [OLD] * 4


def test_remembered_refusals_are_bounded() -> None:
    known = secret_rotation.SecretOverlap(DAY, OLD, Signer(OLD), confirmed=True, prefers_new=True)
    for number in range(3 * secret_rotation.MOST_REFUSED):
        assert known.new_first(number)
        assert known.learn(number, True, 403) is None
        assert not known.new_first(number)
        assert len(known.refused) <= secret_rotation.MOST_REFUSED


def test_an_answer_to_an_earlier_attempt_takes_nothing_back() -> None:
    """An answer to an attempt with the former secret may come after the new one was confirmed."""
    known = secret_rotation.SecretOverlap(DAY, OLD, Signer(OLD))
    assert known.learn(1, False, 401) is None
    assert known.learn(1, True, 200) == Taken(DAY, new=True)
    assert known.learn(2, False, 200) is None
    assert known.learn(3, False, 401) is None
    assert known.new_first(2)
    assert known.new_first(3)
