"""A program that logs every POST, and answers it with 200, but not while there is a file `hold`.

Each line of the log has seconds since the epoch, path, delivery id and user agent.
"""

import asyncio
import re
import sys
import time
from pathlib import Path
from typing import Any, TextIO

import uvloop

HEAD = re.compile(
    rb"POST (?P<path>\S+) (?=.*?\r\nUser-Agent: (?P<agent>\S+))"
    rb"(?=.*?\r\nX-GitHub-Delivery: (?P<guid>\S+))(?=.*?\r\nContent-Length: (?P<length>\d+))",
    re.DOTALL,
)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Receiver(asyncio.Protocol):
    def __init__(self, log: TextIO, hold: Path) -> None:
        self._log = log
        self._hold = hold
        self._data = b""
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while self._take():
            pass

    def _take(self) -> bool:
        end = self._data.find(b"\r\n\r\n") + 4
        found = HEAD.match(self._data[:end]) if end > 3 else None
        if found is None or len(self._data) < (whole := end + int(found["length"])):
            return False
        self._data = self._data[whole:]
        names = " ".join(found[name].decode() for name in ("path", "guid", "agent"))
        self._log.write(f"{time.time():.6f} {names}\n")
        self._answer()
        return True

    def _answer(self) -> None:
        if self._hold.exists():
            asyncio.get_running_loop().call_later(0.05, self._answer)
        else:
            self._transport.write(OK)


async def receive(path: Path) -> None:
    with path.open("w", encoding="utf-8") as log:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: Receiver(log, path.with_name("hold")), "127.0.0.1", 0
        )
        print(server.sockets[0].getsockname()[1], flush=True)
        while True:
            await asyncio.sleep(0.05)
            log.flush()


if __name__ == "__main__":
    uvloop.run(receive(Path(sys.argv[1])))
