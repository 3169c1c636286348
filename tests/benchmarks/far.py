"""Receivers that answer after 120 ms: what is sent a second with so many requests in flight, of
what the latency allows.
"""

import asyncio
import resource
import time
from collections.abc import Iterator

from tests.benchmarks import apart, world
from tests.benchmarks.figure import Bench, Row
from tests.benchmarks.payload import SIZE, payload
from tests.benchmarks.receiver import receiving
from worker.guard import Guard
from worker.sign import Signer
from worker.transport import Transport

DELAY = 0.12
IN_FLIGHT = (500, 2000)
SECONDS = 4.0
WANTED, WANTED_MB = 0.8, 100.0


def measure(bench: Bench) -> Iterator[Row]:
    """The transport with signed bodies, and the whole pipeline."""
    with receiving(bench, delay_ms=round(DELAY * 1000)) as port:
        for most in IN_FLIGHT:
            name = f"far receivers, {most:,} in flight"
            bench.said(name)
            found = [apart.call(send, port=port, in_flight=most) for _ in range(bench.rounds)]
            rate = sorted(each["rate"] for each in found)[len(found) // 2]
            allowed = most / DELAY
            yield Row(f"{name}: sent, of what the latency allows", "/s", rate, allowed,
                      rate / allowed, WANTED)  # fmt: skip
            memory = max(each["memory"] for each in found)
            yield Row(f"{name}: peak memory", "MB", memory, wanted=WANTED_MB, more=False,
                      absolute=True)  # fmt: skip


async def send(port: int, in_flight: int) -> dict[str, float]:
    """Post for some seconds; how many a second, and the most megabytes this process had."""
    guard = Guard(allow_networks=["127.0.0.0/8"])
    transport = Transport(guard, idle_per_origin=in_flight, idle_total=in_flight)
    body, signer = payload(SIZE, 1), Signer(world.SECRET)
    endpoint = guard.endpoint(f"http://127.0.0.1:{port}/hooks/1")
    sent = 0
    counting = False
    over = False

    async def post() -> None:
        nonlocal sent
        while not over:
            sha1, sha256 = signer.hub(body)
            head = (
                f"POST {endpoint.target} HTTP/1.1\r\nHost: {endpoint.authority}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                f"X-Hub-Signature: {sha1}\r\nX-Hub-Signature-256: {sha256}\r\n\r\n"
            )
            answer = await transport.post(endpoint, head.encode(), body, deadline=10)
            if answer.status != 204:
                raise RuntimeError(answer.error)
            sent += counting

    async with asyncio.TaskGroup() as tasks:
        for _ in range(in_flight):
            tasks.create_task(post())
        await asyncio.sleep(1)
        counting, started = True, time.perf_counter()
        await asyncio.sleep(SECONDS)
        rate = sent / (time.perf_counter() - started)
        over = True
    await transport.close()
    guard.close()
    return {"rate": rate, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
