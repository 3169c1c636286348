"""`tocsin listen --server`: deliveries of a hub on another machine, fetched from here."""

import asyncio
import contextlib
import getpass
import re
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from httpx import AsyncClient

from hub.cli.console import output
from hub.cli.playground import remote_hub
from hub.cli.playground.listen_output import Show
from hub.cli.playground.received_request import from_headers
from hub.cli.playground.receiver import Answerer, ReceivedDelivery, ReceiverAnswer
from hub.cli.playground.remote_hub import LeasedItem, RemoteHub
from store.database.backoff import backoff_delay
from store.errors import Conflict, Missing, StoreError, Unavailable
from store.hooks import pull_urls

T = TypeVar("T")
# Seconds of a lease, and after which a lease is extended while the application works.
LEASE, EXTEND_EVERY = 60, 20
# How many deliveries the application gets at the same time.
AT_ONCE = 8
# Seconds without a listener after which a temporary hook is removed.
EXPIRE_IDLE = 600
LONGEST_PAUSE = 10.0
# Seconds for the last answers when the command ends.
GRACE = 10.0
MOST_BODY, MOST_HEADERS, MOST_VALUE = 65_536, 100, 8192
HEADER_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """The hub, and the hook or the repository whose events are wanted."""

    server: str
    token: str = field(repr=False)
    hook: str | None
    full_name: tuple[str, str] | None
    events: tuple[str, ...]
    secret: str | None = field(repr=False)


async def listen(wanted: RemoteOptions, show: Show, answer: Answerer, ended: asyncio.Event) -> None:
    """Fetch deliveries and answer them until `ended` is set."""
    async with remote_hub.connect(wanted.server, wanted.token) as client:
        while not ended.is_set():
            async with _hook(client, wanted) as place:
                hub = RemoteHub(client, place, _consumer())
                try:
                    await RemoteListener(hub, wanted.secret, show, answer).run(ended)
                except Missing:
                    if wanted.full_name is None:
                        raise
                    output.print_note("the hub has removed the idle hook; a new one follows")


@contextlib.asynccontextmanager
async def _hook(client: AsyncClient, wanted: RemoteOptions) -> AsyncIterator[str]:
    """Yield the path of the hook. If it is a temporary one, remove it in the end."""
    if wanted.full_name is None:
        assert wanted.hook is not None, "the caller has checked it"
        place = remote_hub.hook_path(wanted.hook)
        await remote_hub.call(client, "GET", place)
        output.print_note(f"listening to hook {wanted.hook} of {wanted.server}")
        yield place
        return
    place = await _make(client, wanted, wanted.full_name)
    try:
        yield place
    finally:
        # If the hub cannot be reached now, it removes the hook itself after EXPIRE_IDLE seconds.
        with contextlib.suppress(Missing, Unavailable):
            await remote_hub.call(client, "DELETE", place)


async def _make(client: AsyncClient, wanted: RemoteOptions, full_name: tuple[str, str]) -> str:
    hooks = f"{remote_hub.repository_path(full_name)}/hooks"
    config = {
        "url": pull_urls.random_url("listen"),
        "content_type": "json",
        "secret": wanted.secret,
    }
    body = {
        "name": "web",
        "config": config,
        "events": [*wanted.events],
        "delivery": {"expire_idle": EXPIRE_IDLE},
    }
    made = await remote_hub.call(client, "POST", hooks, body)
    name = "/".join(full_name)
    output.print_note(
        f"hook {made['id']} of {name} at {wanted.server} is fetched from here until this command"
        " ends"
    )
    return f"{hooks}/{made['id']}"


def _consumer() -> str:
    """Return the name by which the hub shows this listener."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "listen"
    name = re.sub(r"[^A-Za-z0-9._@-]", "-", f"{user}@{socket.gethostname()}")
    return name.lstrip("._@-")[:100] or "listen"


class RemoteListener:
    """Fetches deliveries, gives them to the application, and reports its answers.

    If the hub cannot be reached, it tries again until it can.
    """

    def __init__(self, hub: RemoteHub, secret: str | None, show: Show, answer: Answerer) -> None:
        self._hub = hub
        self._secret = secret
        self._show = show
        self._answer = answer
        self._tasks: set[asyncio.Task[None]] = set()
        self._held: set[int] = set()
        self._unreachable = False

    async def run(self, ended: asyncio.Event) -> None:
        """Listen until `ended` is set. Deliveries that the application has are still answered."""
        stopping = asyncio.create_task(ended.wait())
        extending = asyncio.create_task(self._extend())
        fetching = asyncio.create_task(self._fetch())
        try:
            await asyncio.wait([stopping, fetching], return_when=asyncio.FIRST_COMPLETED)
            if fetching.done():
                fetching.result()
        finally:
            fetching.cancel()
            stopping.cancel()
            await asyncio.gather(fetching, return_exceptions=True)
            await self._finish()
            extending.cancel()

    async def _finish(self) -> None:
        """Wait for the last answers. Leases without an answer lapse, and the hub delivers again."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=GRACE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _fetch(self) -> None:
        while True:
            while len(self._tasks) >= AT_ONCE:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            room = AT_ONCE - len(self._tasks)
            for item in await self._repeated(partial(self._hub.fetch, room, LEASE)):
                task = asyncio.create_task(self._handle(item))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _handle(self, item: LeasedItem) -> None:
        self._held.add(item.lease_id)
        try:
            received = from_headers(item.headers, item.body, self._secret)
            began = time.monotonic()
            answer = await self._answer(received)
            seconds = time.monotonic() - began
            self._show(ReceivedDelivery(received, answer, seconds))
            await self._report(item.lease_id, answer, seconds)
        finally:
            self._held.discard(item.lease_id)

    async def _report(self, lease_id: int, answer: ReceiverAnswer, seconds: float) -> None:
        try:
            if answer.problem:
                await self._repeated(lambda: self._hub.reject(lease_id, answer.problem))
            else:
                said = _answer(answer, seconds)
                await self._repeated(lambda: self._hub.acknowledge(lease_id, said))
        except StoreError as error:
            output.print_note(f"the hub did not record this answer: {error}")

    async def _extend(self) -> None:
        """Extend the leases of the deliveries that the application is processing."""
        while True:
            await asyncio.sleep(EXTEND_EVERY)
            for lease_id in [*self._held]:
                # If a lease is stale, the report of its answer fails later and prints a note.
                with contextlib.suppress(Conflict, Missing, Unavailable):
                    await self._hub.extend([lease_id], LEASE)

    async def _repeated(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `attempt`. While the hub cannot be reached, try again."""
        tries = 0
        while True:
            try:
                result = await attempt()
            except Unavailable as error:
                tries += 1
                if not self._unreachable:
                    self._unreachable = True
                    output.print_note(f"{error}; trying again")
                await asyncio.sleep(backoff_delay(tries, longest=LONGEST_PAUSE))
                continue
            if self._unreachable:
                self._unreachable = False
                output.print_note("the hub is back")
            return result


def _answer(answer: ReceiverAnswer, seconds: float) -> dict[str, object]:
    """Return the application's answer as the hub records it, within its limits."""
    headers: dict[str, str] = {}
    for name, value in answer.headers:
        if len(headers) < MOST_HEADERS and HEADER_NAME.fullmatch(name):
            headers[name.decode()] = value.decode("latin-1")[:MOST_VALUE].replace("\0", "")
    return {
        "status": answer.status,
        "duration": min(seconds, 3600),
        "headers": headers,
        "body": answer.body[:MOST_BODY]
        .decode(errors="replace")
        .replace("\0", "\ufffd")[:MOST_BODY],
    }
