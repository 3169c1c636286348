"""A client that posts each event to one hub after the other until one of them accepts it."""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Iterable, Sequence

import orjson

PAUSE = 0.2
LONGEST = 20.0


class Refused(Exception):
    """The status of the response is not 2xx."""


class Sender:
    """Keeps several connections busy. `accepted` has the delivery ids that got a 2xx."""

    def __init__(self, hubs: Sequence[int], repository: str, token: str) -> None:
        self._hubs = hubs
        self._repository = repository
        self._token = token
        self._todo: deque[list[str]] = deque()
        self.accepted: set[str] = set()
        self.statuses: Counter[object] = Counter()
        self.retry_after: set[str] = set()

    def give(self, guids: Iterable[str], size: int = 1) -> None:
        """Queue events with these delivery ids, alone or in batches of `size`."""
        chosen = list(guids)
        self._todo.extend(chosen[at : at + size] for at in range(0, len(chosen), size))

    async def run(self, connections: int) -> None:
        """Post until every queued event is accepted."""
        async with asyncio.TaskGroup() as group:
            for at in range(connections):
                group.create_task(self._keep_posting(at))

    async def _keep_posting(self, hub: int) -> None:
        while self._todo:
            try:
                async with asyncio.timeout(None) as limit:
                    await self._post_all(self._hubs[hub % len(self._hubs)], limit)
            except (OSError, EOFError, TimeoutError, Refused) as error:
                self.statuses[type(error).__name__] += not isinstance(error, Refused)
                await asyncio.sleep(PAUSE * random.uniform(0.5, 1.5))
                hub += 1

    async def _post_all(self, port: int, limit: asyncio.Timeout) -> None:
        loop = asyncio.get_running_loop()
        limit.reschedule(loop.time() + LONGEST)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            while self._todo:
                guids = self._todo.popleft()
                try:
                    limit.reschedule(loop.time() + LONGEST)
                    writer.write(self._request(guids))
                    await self._take_answer(reader)
                except BaseException:
                    self._todo.append(guids)
                    raise
                self.accepted.update(guids)
        finally:
            writer.transport.abort()

    async def _take_answer(self, reader: asyncio.StreamReader) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:-2])
        await reader.readexactly(int(lines["content-length"]))
        status = int(head.split(" ")[1])
        self.statuses[status] += 1
        if status == 503:
            self.retry_after.add(lines.get("retry-after", "missing"))
        if not 200 <= status < 300:
            raise Refused(head)

    def _request(self, guids: list[str]) -> bytes:
        if len(guids) == 1:
            path = f"/{self._repository}/events/push"
            kind, body = f"application/json\r\nX-GitHub-Delivery: {guids[0]}", payload(guids[0])
        else:
            path, kind = "/events", "application/x-ndjson"
            body = b"\n".join(self._line(guid) for guid in guids)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def _line(self, guid: str) -> bytes:
        head = {"id": guid, "event": "push", "repository": self._repository}
        return orjson.dumps(head)[:-1] + b',"payload":' + payload(guid) + b"}"


def payload(guid: str) -> bytes:
    """Return a payload of about 1 kB that is unique to this event."""
    return orjson.dumps({"ref": f"refs/heads/{guid}", "text": guid * (1000 // len(guid))})
