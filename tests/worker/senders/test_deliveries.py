"""Deliveries by sender processes: their records, and the retries after a process died."""

import asyncio
import os
import signal
from dataclasses import replace
from typing import Any

import pytest
from receivers import OK, Call, ok, serving
from waiting import until
from worker_harness import PROMPT, WorkerHarness

from worker.senders.child import ENDED
from worker.senders.supervisor import SenderSupervisor
from worker.signing.sign import verify_hub

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
EVENTS = 40


async def working(harness: WorkerHarness, **settings: Any) -> SenderSupervisor:
    """Start a worker on real sockets. Return the supervisor of its sender process.

    The process is started once two requests are in flight.
    """
    harness.tuning = replace(PROMPT, senders_start_at=1)
    worker = await harness.work(real=True, senders=1, **settings)
    assert worker.senders is not None
    return worker.senders


async def ready(harness: WorkerHarness, senders: SenderSupervisor) -> int:
    """Deliver until the process is ready, and return its id."""
    while not senders.ready:
        await harness.events(4)
        await until(lambda: harness.counts()["waiting"] == 0)
    (child,) = senders.ready
    assert child.pid is not None
    return child.pid


def headers(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:-2]
    return dict(line.split(": ", 1) for line in lines)


async def test_the_record_has_the_request_as_it_was_received(harness: WorkerHarness) -> None:
    async with serving(ok) as receiver:
        hook = harness.hook(receiver.url, secret=SECRET, options={"headers": {"X-Key": "hidden"}})
        senders = await working(harness)
        await ready(harness, senders)
        before = len(harness.attempts(hook))
        await harness.events(EVENTS)
        await until(lambda: harness.counts()["delivered"] == before + EVENTS)
        sent = {headers(head)["X-GitHub-Delivery"]: head for head in receiver.heads}
        attempts = await harness.recorded(hook, before + EVENTS)
        assert len(attempts) == len(sent) == before + EVENTS
        for attempt in attempts:
            recorded = dict(attempt["request_headers"])
            received = headers(sent[recorded["X-GitHub-Delivery"]])
            assert received.pop("X-Key") == "hidden"
            assert "hidden" not in recorded.pop("X-Key")
            assert recorded == received
            assert attempt["status_code"] == 200
            assert attempt["address"] == "127.0.0.1"


async def test_receivers_verify_signatures_of_a_sender_process(harness: WorkerHarness) -> None:
    async with serving(ok) as receiver:
        harness.hook(receiver.url, secret=SECRET)
        senders = await working(harness)
        await ready(harness, senders)
        done = harness.counts()["delivered"]
        bodies = {b'{"number":%d}' % number for number in range(EVENTS)}
        await asyncio.gather(*(harness.event(body) for body in bodies))
        await until(lambda: harness.counts()["delivered"] == done + EVENTS)
        for head, body in zip(receiver.heads[done:], receiver.bodies[done:], strict=True):
            assert verify_hub(SECRET, body, headers(head)["X-Hub-Signature-256"])
        assert set(receiver.bodies[done:]) == bodies


async def test_a_sender_that_dies_costs_a_retry_and_no_delivery(harness: WorkerHarness) -> None:
    answers = asyncio.Event()
    answers.set()

    async def waits(call: Call) -> None:
        while True:
            await call.request()
            await answers.wait()
            await call.say(OK)

    async with serving(waits) as receiver:
        hook = harness.hook(receiver.url, options={"retries": [0, 0, 0]})
        senders = await working(harness)
        pid = await ready(harness, senders)
        done, seen = harness.counts()["delivered"], len(receiver.bodies)
        answers.clear()
        await harness.events(EVENTS)
        await until(lambda: senders.in_flight > 1 and len(receiver.bodies) > seen + 1)
        os.kill(pid, signal.SIGKILL)
        assert harness.worker is not None
        deaths = harness.worker.metrics.sender_deaths
        await until(lambda: deaths.values() == {(): 1})
        answers.set()
        await until(lambda: harness.counts()["delivered"] == done + EVENTS)
        assert harness.counts()["dead"] == 0
        errors = {each["error"] for each in harness.attempts(hook)}
        assert errors == {None, ENDED}
        await until(lambda: senders.ready, "another process")


@pytest.mark.parametrize("how", ["stop", "abort"])
async def test_no_process_outlives_its_worker(harness: WorkerHarness, how: str) -> None:
    async with serving(ok) as receiver:
        harness.hook(receiver.url)
        senders = await working(harness)
        pid = await ready(harness, senders)
        if how == "stop":
            await harness.rest()
        else:
            harness.crash()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
