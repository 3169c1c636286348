"""Requests by sender processes to real receivers: results, refusals, and ends of processes."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from receivers import LOOPBACK, Call, Receiver, ok, says, self_signed, serving, silent
from waiting import PATIENCE, until

from worker.http.answer import ExchangeResult, Withheld
from worker.http.endpoint import parse
from worker.http.guard import Guard
from worker.http.transport import Transport
from worker.senders.child import ENDED, MOST_BODIES, NotSent
from worker.senders.messages import LATE
from worker.senders.pool import MOST_BODY, MOST_ROUNDS, SenderPool
from worker.senders.supervisor import SenderSupervisor
from worker.settings import WorkerSettings
from worker.signing.sign import Signer
from worker.signing.signatures import UNSIGNED, SigningRequest
from worker.tuning import Tuning

SECRET = "whsec_c2VjcmV0LW9mLXRoZS1ob29r"
NAMES = ("sha256", "sha1", "v1")
BOTH_LOOPS = pytest.mark.parametrize(
    "anyio_backend",
    [("asyncio", {"use_uvloop": False}), ("asyncio", {"use_uvloop": True})],
    ids=["asyncio", "uvloop"],
)
SIGNING: SigningRequest = ((SECRET, (), NAMES), "guid-1", 1_700_000_000)


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def process_file(pid: int, name: str) -> bytes:
    return Path(f"/proc/{pid}/{name}").read_bytes()


@dataclass
class Senders:
    """A pool, its supervisor, and the deaths that it has reported."""

    pool: SenderPool
    supervisor: SenderSupervisor
    transport: Transport
    deaths: list[int] = field(default_factory=list)

    async def post(
        self, to: Receiver | str, body: bytes = b"{}", deadline: float = PATIENCE, **more: Any
    ) -> ExchangeResult:
        url = to if isinstance(to, str) else to.url
        endpoint = parse(url)
        head = (
            f"POST {endpoint.target} HTTP/1.1\r\nHost: {endpoint.authority}\r\n"
            f"Content-Length: {len(body)}\r\n{UNSIGNED}\r\n"
        )
        return await self.pool.post_unsigned(
            endpoint, head, body, SIGNING, deadline=deadline, **more
        )

    @property
    def pids(self) -> list[int]:
        return [child.pid for child in self.supervisor.ready if child.pid is not None]


@asynccontextmanager
async def senders(most: int = 1, *, busy: bool = True, **tuning: Any) -> AsyncIterator[Senders]:
    """A pool with one request in flight from this process. If `busy`, its processes are ready."""
    guard = Guard(allow_networks=LOOPBACK)
    transport = Transport(guard)
    deaths: list[int] = []
    supervisor = SenderSupervisor(
        most,
        WorkerSettings(allow_networks=LOOPBACK),
        lambda: deaths.append(1),
        Tuning(**{"senders_start_at": 1} | tuning),
    )
    made = Senders(SenderPool(transport, supervisor), supervisor, transport, deaths)
    async with serving(silent) as hanging, serving(ok) as receiver:
        held = asyncio.create_task(made.post(hanging))
        await hanging.asked.wait()
        try:
            if busy:
                await made.post(receiver)
                await until(lambda: len(supervisor.ready) == most, "the processes")
            yield made
        finally:
            held.cancel()
            with suppress(asyncio.CancelledError):
                await held
            pids = made.pids
            await supervisor.close()
            await transport.close()
            guard.close()
            for pid in pids:
                assert not is_running(pid), "a sender process is left"


@BOTH_LOOPS
async def test_a_process_signs_and_sends() -> None:
    async with senders() as made, serving(ok) as receiver:
        result = await made.post(receiver, b'{"a": 1}')
        assert (result.status, result.body, result.error) == (200, b"ok", None)
        assert result.address == "127.0.0.1"
        assert {"connect", "wait", "total"} <= set(result.timings)
        assert receiver.bodies == [b'{"a": 1}']
        head = receiver.heads[0].decode()
        signer = Signer(SECRET)
        sha1, sha256 = signer.hub(b'{"a": 1}')
        standard = signer.standard("guid-1", 1_700_000_000, b'{"a": 1}')
        lines = (
            f"X-Hub-Signature: {sha1}\r\nX-Hub-Signature-256: {sha256}\r\n"
            f"webhook-signature: {standard}\r\n"
        )
        assert result.signatures == lines
        assert head.endswith(f"Content-Length: 8\r\n{lines}\r\n")
        assert made.supervisor.ready[0].connections == 1


async def test_a_process_sends_the_same_request_as_the_worker() -> None:
    async with senders() as made, serving(ok) as receiver:
        await made.post(receiver)
        await made.supervisor.close()
        await made.post(receiver)
        assert receiver.heads[0] == receiver.heads[1]
        assert receiver.connections == 2


async def test_a_request_alone_is_sent_without_a_process() -> None:
    """Until there are many requests in a second, no process is started."""
    async with senders(busy=False, senders_start_at=5) as made, serving(ok) as receiver:
        for _ in range(3):
            await made.post(receiver)
        assert made.pids == []
        assert not made.supervisor.in_flight
        await until(lambda: asyncio.create_task(made.post(receiver)) and made.pids)


async def test_processes_share_the_requests() -> None:
    release = asyncio.Event()

    async def waits(call: Call) -> None:
        await call.request()
        await release.wait()
        await call.say(*[b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"])

    async with senders(2) as made, serving(waits) as receiver:
        posts = [asyncio.create_task(made.post(receiver)) for _ in range(10)]
        await until(lambda: len(receiver.bodies) == 10)
        assert [child.in_flight for child in made.supervisor.ready] == [5, 5]
        release.set()
        assert [(await post).status for post in posts] == [204] * 10


async def test_a_body_is_handed_over_once_and_few_are_kept() -> None:
    async with senders() as made, serving(ok) as receiver:
        bodies = [b'{"number": %d}' % number for number in range(MOST_BODIES + 20)]
        for body in bodies:
            await made.post(receiver, body)
        again = await asyncio.gather(*(made.post(receiver, bodies[number]) for number in (0, -1)))
        assert {one.status for one in again} == {200}
        assert receiver.bodies[: len(bodies)] == bodies
        assert sorted(receiver.bodies[len(bodies) :]) == sorted([bodies[0], bodies[-1]])


@pytest.mark.parametrize("size", [MOST_BODY, 10_000_000])
async def test_large_bodies_are_sent_and_large_answers_truncated(size: int) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + b"x" * 200_000
    body = os.urandom(size)
    async with senders() as made, serving(says(answer)) as receiver:
        result = await made.post(receiver, body)
        assert receiver.bodies == [body]
        assert result.truncated
        assert len(result.body) == 65_536


async def test_a_body_that_takes_long_to_hand_over_is_sent_by_the_worker() -> None:
    async with senders() as made, serving(ok) as receiver:
        (child,) = made.supervisor.ready
        request, sizes = child.request, set[int]()

        async def counts(*fields: Any) -> ExchangeResult:
            sizes.add(len(fields[2]))
            return await request(*fields)

        child.request = counts  # type: ignore[method-assign]
        for size in (MOST_BODY, MOST_BODY + 1):
            assert (await made.post(receiver, b"x" * size)).status == 200
        assert sizes == {MOST_BODY}


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://169.254.1.1/", "guard: 169.254.1.1"),
        ("http://127.0.0.1:1/", "connect: Connection refused"),
        ("http://name.invalid/", "resolve: "),
    ],
)
async def test_errors_are_those_of_the_worker(url: str, error: str) -> None:
    async with senders() as made:
        found = await made.post(url)
        assert found.error is not None
        assert found.error.startswith(error)
        assert found.status is None
        assert found.signatures.startswith("X-Hub-Signature")


async def test_a_late_answer_is_a_timeout() -> None:
    async with senders() as made, serving(silent) as receiver:
        found = await made.post(receiver, deadline=0.2)
        assert found.error == "timeout: wait: no whole answer within 0.2 s"


async def test_certificates_are_verified_as_the_hook_wants_it(tmp_path: Path) -> None:
    context, _ = self_signed(tmp_path)
    async with senders() as made, serving(ok, context=context) as receiver:
        url = receiver.url.replace("http:", "https:")
        refused = await made.post(url)
        assert refused.error is not None
        assert "certificate verify failed" in refused.error
        assert (await made.post(url, verify_tls=False)).status == 200


async def test_each_address_is_approved_before_it_is_reached() -> None:
    async with senders() as made, serving(ok) as receiver:
        asked: list[str] = []

        def approve(address: str) -> bool:
            asked.append(address)
            return True

        for _ in range(2):
            assert (await made.post(receiver, may_reach=approve)).status == 200
        assert asked == ["127.0.0.1"] * 2
        with pytest.raises(Withheld):
            await made.post(receiver, may_reach=lambda address: False)
        assert len(receiver.bodies) == 2


async def test_a_name_is_asked_about_by_its_addresses() -> None:
    """The sender process resolves the name, and connects only after the worker has agreed."""
    async with senders() as made, serving(ok) as receiver:
        url = receiver.url.replace("127.0.0.1", "localhost")
        refused: list[str] = []
        with pytest.raises(Withheld):
            await made.post(url, may_reach=lambda address: bool(refused.append(address)))
        assert len(refused) == 1
        assert receiver.connections == 0
        agreed: list[str] = []
        found = await made.post(url, may_reach=lambda address: not agreed.append(address))
        assert found.status == 200
        assert "127.0.0.1" in agreed


async def test_the_deadline_covers_all_addresses_of_a_name() -> None:
    """The name servers of a receiver may return another address for each look-up."""
    async with senders() as made, serving(ok) as receiver:
        (child,) = made.supervisor.ready
        given: list[float] = []

        async def asks_again(*request: Any) -> ExchangeResult:
            given.append(request[-1])
            raise NotSent(f"127.0.0.{len(given)}", pause)

        child.request = asks_again  # type: ignore[method-assign]
        pause = 0.0
        found = await made.post(receiver, may_reach=lambda address: True)
        assert (found.status, len(given)) == (200, MOST_ROUNDS), "this process sends it"
        pause = 0.06
        given.clear()
        found = await made.post(receiver, deadline=0.1, may_reach=lambda address: True)
        assert (found.status, found.error) == (None, "timeout: connect: not done within 0.1 s")
        assert given == sorted(given)


async def test_nothing_is_sent_after_the_worker_says_no() -> None:
    async with senders() as made, serving(ok) as receiver:
        with pytest.raises(Withheld):
            await made.post(receiver, may_send=lambda: False)
        assert receiver.connections == 0


async def test_a_process_that_is_late_asks_again() -> None:
    """The worker may have lost its lease while the sender process stood still."""
    async with senders() as made, serving(ok) as receiver:
        (pid,) = made.pids
        decided: list[int] = []
        os.kill(pid, signal.SIGSTOP)
        post = asyncio.create_task(
            made.post(receiver, may_send=lambda: decided.append(1) or len(decided) < 2)
        )
        await until(lambda: decided)
        await asyncio.sleep(1.1)
        os.kill(pid, signal.SIGCONT)
        with pytest.raises(Withheld):
            await post
        assert len(decided) == 2
        assert receiver.bodies == []


async def test_the_time_that_a_process_needs_for_others_is_no_failure() -> None:
    """Under load, a process may begin with a request only after the request's whole deadline."""
    async with senders() as made, serving(ok) as receiver:
        (child,) = made.supervisor.ready
        given: list[float] = []

        async def is_late(*request: Any) -> ExchangeResult:
            given.append(request[-1])
            raise NotSent(None, dialled)

        child.request = is_late  # type: ignore[method-assign]
        dialled = 0.0
        assert (await made.post(receiver)).status == 200, "this process sends it"
        assert given == [0.0]
        dialled = LATE
        given.clear()
        found = await made.post(receiver, deadline=2 * LATE)
        assert found.error == "timeout: connect: not done within 2 s", "the receiver was slow"
        assert given == [0.0, LATE]


async def test_other_rules_apply_to_the_processes_too() -> None:
    async with senders() as made, serving(ok) as receiver:
        assert (await made.post(receiver)).status == 200
        made.supervisor.change(WorkerSettings(allow_networks=["192.0.2.0/24"]))
        found = await made.post(receiver)
        assert found.error is not None
        assert found.error.startswith("guard: ")
        await receiver.closed.wait()


@BOTH_LOOPS
async def test_cancelling_a_request_closes_its_connection() -> None:
    async with senders() as made, serving(silent) as receiver:
        post = asyncio.create_task(made.post(receiver))
        await receiver.asked.wait()
        post.cancel()
        with pytest.raises(asyncio.CancelledError):
            await post
        await receiver.closed.wait()


@BOTH_LOOPS
async def test_a_killed_process_fails_its_requests_and_is_replaced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with senders() as made, serving(silent) as hanging, serving(ok) as receiver:
        posts = [asyncio.create_task(made.post(hanging)) for _ in range(3)]
        await until(lambda: len(hanging.bodies) == 3)
        (before,) = made.pids
        with caplog.at_level(logging.ERROR, "tocsin.worker"):
            os.kill(before, signal.SIGKILL)
            for post in posts:
                found = await post
                assert (found.status, found.error) == (None, ENDED)
                assert found.signatures.startswith("X-Hub-Signature")
        assert "a sender process ended; 3 requests in flight failed" in caplog.text
        assert made.deaths == [1]
        assert (await made.post(receiver)).status == 200, (
            "the worker's process sends until another process is ready"
        )
        await until(lambda: made.pids, "another process")
        assert made.pids != [before]
        assert (await made.post(receiver)).status == 200


async def test_a_stuck_process_is_ended(caplog: pytest.LogCaptureFixture) -> None:
    async with senders(senders_grace=0.0) as made, serving(ok) as receiver:
        (pid,) = made.pids
        with caplog.at_level(logging.ERROR, "tocsin.worker"):
            os.kill(pid, signal.SIGSTOP)
            found = await made.post(receiver, deadline=0.1)
        assert found.error == ENDED
        assert f"sender process {pid} is stuck" in caplog.text


async def test_signals_of_a_service_manager_do_not_end_it() -> None:
    async with senders() as made, serving(ok) as receiver:
        (pid,) = made.pids
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(pid, number)
        assert (await made.post(receiver)).status == 200
        assert made.pids == [pid]


async def test_without_load_the_processes_end() -> None:
    async with senders(2, senders_idle=0.0) as made:
        pids = made.pids
        await until(lambda: not made.pids, "no process")
        for pid in pids:
            await until(lambda pid=pid: not is_running(pid), "its end")
        assert made.deaths == []


async def test_a_process_that_is_about_to_end_gets_no_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A request begins while the supervisor looks whether any is in flight."""
    async with senders(senders_idle=0.0) as made, serving(ok) as receiver:
        posts: list[asyncio.Task[ExchangeResult]] = []

        def in_flight(supervisor: SenderSupervisor) -> int:
            posts.append(asyncio.create_task(made.post(receiver)))
            return 0

        monkeypatch.setattr(SenderSupervisor, "in_flight", property(in_flight))
        await until(lambda: posts, "a look")
        for post in posts:
            assert (await post).status == 200


async def test_the_worker_sends_if_its_processes_do_not_start(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The worker's process sends instead, and the start is tried again later."""
    monkeypatch.setattr("worker.senders.child.PROGRAM", "worker.senders.no_such_module")
    async with senders(busy=False) as made, serving(ok) as receiver:
        assert (await made.post(receiver)).status == 200
        with caplog.at_level(logging.ERROR, "tocsin.worker"):
            await until(lambda: "a sender process cannot be started" in caplog.text)
        monkeypatch.undo()
        await until(lambda: made.pids, "a process")
        assert (await made.post(receiver)).status == 200


async def test_no_process_of_another_version_is_started(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An upgrade replaces the program's files before the worker is restarted."""
    monkeypatch.setattr("worker.senders.child.OWN_PROGRAM", (0, 0))
    async with senders(busy=False) as made, serving(ok) as receiver:
        assert (await made.post(receiver)).status == 200
        with caplog.at_level(logging.ERROR, "tocsin.worker"):
            await until(lambda: "another version of tocsin was installed" in caplog.text)
        assert made.pids == []
        assert (await made.post(receiver)).status == 200


async def test_a_secret_is_in_no_place_that_others_can_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with senders() as made, serving(ok) as receiver:
        await made.post(receiver)
        (pid,) = made.pids
        for name in ("cmdline", "environ"):
            assert SECRET.encode() not in process_file(pid, name)
        assert SECRET not in caplog.text
        assert SECRET not in repr(made.supervisor.ready[0])
