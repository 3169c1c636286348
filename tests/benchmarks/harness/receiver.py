"""The receiver, in its own process: in C if there is a compiler, otherwise on uvloop."""

import asyncio
import contextlib
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import uvloop
from receivers import self_signed

from hub.cli.http_server.server import bind, port_of
from tests.benchmarks.harness.figure import Bench
from tests.benchmarks.harness.processes import end, wait_for
from tests.benchmarks.harness.world import FAILING

SOURCE = Path(__file__).with_name("receiver.c")
ANSWER = b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"
FAILURE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"


@contextlib.contextmanager
def receiving(
    bench: Bench, *, delay_ms: int = 0, hosts: int = 1, tls: bool = False, failing: bool = False
) -> Iterator[int]:
    """Run a receiver that answers 204 after `delay_ms` milliseconds. Yield its port.

    If `failing`, requests with the ordering key world.FAILING get 503.

    It has `hosts` loopback addresses, from 127.0.0.1 on. With `tls` it is on uvloop, and its
    certificate is self-signed.
    """
    ours = [sys.executable, "-m", __name__]
    command = ours if tls else _built(bench.directory) or ours
    if not tls:
        bench.receiver = "on uvloop" if command == ours else "in C"
    kind = "tls" if tls else "plain"
    announced = bench.directory / "receiver.port"
    announced.unlink(missing_ok=True)
    process = subprocess.Popen(
        [*command, *map(str, (announced, delay_ms, hosts)), FAILING if failing else "-", kind],
        stdin=subprocess.PIPE,
        text=True,
    )
    try:
        yield int(wait_for(announced))
    finally:
        end(process)
        assert process.stdin is not None
        process.stdin.close()


def _built(directory: Path) -> list[str] | None:
    """Build the receiver in C once. Return its command; None without a compiler."""
    program = directory / "receiver"
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    if not program.exists():
        subprocess.run([compiler, "-O2", "-o", str(program), str(SOURCE)], check=True)
    return [str(program)]


class Answering(asyncio.Protocol):
    """Answers requests. It parses only their ends and the ordering key, to cost little."""

    def __init__(self, delay: float, failing: bytes = b"-") -> None:
        self._delay = delay
        self._failing = b"\r\nwebhook-ordering-key: %b\r\n" % failing
        self._said = ANSWER
        self._head = b""
        self._left = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        while data:
            if not self._left:
                self._head += data
                end = self._head.find(b"\r\n\r\n")
                if end < 0:
                    return
                data = self._head[end + 4 :]
                self._left = content_length(self._head[: end + 2])
                self._said = FAILURE if self._failing in self._head else ANSWER
                self._head = b""
            part = min(self._left, len(data))
            self._left -= part
            data = data[part:]
            if not self._left:
                self._answer()

    def _answer(self) -> None:
        if self._delay:
            asyncio.get_running_loop().call_later(self._delay, self._transport.write, self._said)
        else:
            self._transport.write(self._said)


def content_length(head: bytes) -> int:
    """Return the Content-Length of a head that ends with a line break; 0 without one."""
    at = head.lower().find(b"\r\ncontent-length:")
    return 0 if at < 0 else int(head[at + 17 : head.index(b"\r\n", at + 2)])


async def _receive(
    bound: Sequence[socket.socket], delay: float, failing: bytes, context: ssl.SSLContext | None
) -> None:
    loop = asyncio.get_running_loop()
    for each in bound:
        await loop.create_server(
            lambda: Answering(delay, failing), sock=each, backlog=4096, ssl=context
        )
    ended = asyncio.Event()
    loop.add_reader(0, ended.set)
    await ended.wait()


def _main(announced: Path, delay_ms: int, hosts: int, failing: str, *, tls: bool) -> None:
    bound = [bind("127.0.0.1", 0)]
    bound += [bind(f"127.0.0.{host}", port_of(bound[0])) for host in range(2, hosts + 1)]
    for each in bound:
        each.listen()
    context = self_signed(announced.parent)[0] if tls else None
    announced.write_text(f"{port_of(bound[0])}\n")
    uvloop.run(_receive(bound, delay_ms / 1000, failing.encode(), context))


if __name__ == "__main__":
    path, delay, hosts, failing, kind = sys.argv[1:]
    _main(Path(path), int(delay), int(hosts), failing, tls=kind == "tls")
