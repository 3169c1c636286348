"""A client that posts numbered events, and records which of them are accepted."""

import asyncio
import itertools

from daemon import LENGTH, Site, push

CONNECTIONS = 8
# Seconds between an answer and the next event of a connection.
PAUSE = 0.005


class Sender:
    """Posts events `n-0`, `n-1`, ... An event that is not accepted is posted again, as the same."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._numbers = itertools.count()
        self.again: list[str] = []
        """The GUIDs to post before new ones."""
        self.body: bytes | None = None
        """The body of every event; None means a small one."""
        self.over = False
        """Nothing more is posted once this is set."""
        self.sent: set[str] = set()
        self.accepted: set[str] = set()
        self.refused: list[bytes] = []
        """The heads of responses with another status than 202."""

    async def post(self, connections: int = CONNECTIONS) -> None:
        """Post until the hub is gone, or `over` is set."""
        await asyncio.gather(*(self._post() for _ in range(connections)))

    async def post_one(self) -> None:
        """Post a single event. If it is not accepted, the next call posts it again."""
        await self._post(endless=False)

    async def _post(self, *, endless: bool = True) -> None:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._site.port)
        except OSError:
            return
        try:
            going_on = True
            while going_on and not self.over:
                going_on = await self._accepted(reader, writer, self._next()) and endless
                await asyncio.sleep(PAUSE)
        finally:
            writer.close()

    def _next(self) -> str:
        guid = self.again.pop() if self.again else f"n-{next(self._numbers)}"
        self.sent.add(guid)
        return guid

    async def _accepted(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, guid: str
    ) -> bool:
        try:
            writer.write(push(self._site.token, guid, self.body))
            head = await reader.readuntil(b"\r\n\r\n")
            length = LENGTH.search(head)
            await reader.readexactly(int(length[1]) if length else 0)
        except (EOFError, OSError):
            head = b""
        if head.startswith(b"HTTP/1.1 202 "):
            self.accepted.add(guid)
            return True
        self.again.append(guid)
        if head:
            self.refused.append(head)
        return bool(head) and b"\r\nconnection: close" not in head.lower()
