"""The transport alone in its own process, which shows its memory."""

import asyncio
import os
import time

from tests.benchmarks.harness.payload import SIZE, payload
from tests.benchmarks.harness.processes import Server
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard
from worker.http.transport import Transport
from worker.signing.sign import Signer

SECRET = "the quick brown fox jumps over the lazy dog"


async def send(
    port: int, in_flight: int, hosts: int, warming: float, seconds: float
) -> dict[str, float]:
    """Post for `seconds`. Return the requests a second, and the process's peak megabytes."""
    guard = Guard(allow_networks=["127.0.0.0/8"])
    transport = Transport(guard, idle_per_origin=in_flight, idle_total=in_flight)
    body, signer = payload(SIZE, 1), Signer(SECRET)
    sent = 0
    counting = False
    over = False

    async def post(endpoint: Endpoint) -> None:
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
        for number in range(in_flight):
            url = f"http://127.0.0.{1 + number % hosts}:{port}/hooks/{number}"
            tasks.create_task(post(guard.endpoint(url)))
        await asyncio.sleep(warming)
        counting, started = True, time.perf_counter()
        await asyncio.sleep(seconds)
        rate = sent / (time.perf_counter() - started)
        over = True
    await transport.close()
    guard.close()
    return {"rate": rate, "memory": Server(os.getpid(), 0).memory("VmHWM")}
