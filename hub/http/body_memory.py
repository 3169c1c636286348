"""The memory that all request bodies take together, and which of them make room for others."""

import asyncio
from collections import Counter

from starlette.types import Scope

from hub.http.client_address import ClientAddresses
from store.errors import Busy


class Upload:
    """A body that is arriving: its client, the bytes that it takes, and the end of its time."""

    __slots__ = ("client", "deadline", "is_refused", "size")

    def __init__(self, client: str, deadline: asyncio.Timeout) -> None:
        self.client = client
        self.deadline = deadline
        self.is_refused = False
        self.size = 0


class BodyMemory:
    """Counts the bytes in memory, at most `most`.

    If they are too many, the client whose unfinished bodies take the most makes room. Otherwise a
    client without credentials, with a few bodies that it never completes, could keep out all
    others.
    """

    def __init__(self, most: int, clients: ClientAddresses) -> None:
        self._most = most
        self._clients = clients
        self._uploads: dict[Upload, None] = {}
        self.held = 0

    def reserve(self, scope: Scope, size: int) -> None:
        """Count a complete body. Raises Busy if there is no room for it."""
        if self.held + size > self._most:
            self._make_room(self._clients.address(scope), size)
        self.held += size

    def give_back(self, size: int) -> None:
        """Release bytes that are no longer in memory."""
        self.held -= size

    def begin(self, scope: Scope, deadline: asyncio.Timeout) -> Upload:
        """Return a new upload. Call `end` when it is complete or given up."""
        upload = Upload(self._clients.address(scope), deadline)
        self._uploads[upload] = None
        return upload

    def add(self, upload: Upload, size: int) -> None:
        """Count more bytes of an upload. Raises Busy if there is no room, or if it made room."""
        if upload.is_refused:
            raise _busy()
        if self.held + size > self._most:
            self._make_room(upload.client, size)
        self.held += size
        upload.size += size

    def end(self, upload: Upload) -> None:
        """Note that an upload is no longer unfinished. Its bytes stay counted."""
        self._uploads.pop(upload, None)

    def _make_room(self, client: str, size: int) -> None:
        """Refuse uploads until `size` bytes fit. Raises Busy if `client` itself takes the most."""
        while self.held + size > self._most:
            held: Counter[str] = Counter()
            for upload in self._uploads:
                held[upload.client] += upload.size
            largest = max(held, key=held.__getitem__, default=client)
            if held[largest] <= held[client] + size:
                raise _busy()
            own = [one for one in self._uploads if one.client == largest]
            self._refuse(max(own, key=lambda one: one.size))

    def _refuse(self, upload: Upload) -> None:
        self.end(upload)
        self.give_back(upload.size)
        upload.size, upload.is_refused = 0, True
        # Its request waits for the client, and has to answer now, unless its time is over anyway.
        if not upload.deadline.expired():
            upload.deadline.reschedule(0)


def _busy() -> Busy:
    return Busy("too many large bodies are being received; try again in a moment")
