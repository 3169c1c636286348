"""One request on its way through the pipeline."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope

from hub.auth.credentials import Caller
from hub.auth.quotas import RateCharge
from hub.http.errors import HubError
from hub.http.media import PLAIN, Media
from hub.http.response import Header, Response


@dataclass(slots=True)
class Request:
    """What came, and what has been found out about it."""

    scope: Scope
    receive: Receive
    values: Mapping[str, str]
    """The path's parameters."""
    request_id: str = ""
    headers: dict[bytes, bytes] = field(init=False)
    told: list[Header] = field(default_factory=list)
    """Headers that its answer carries, whatever it is."""
    rate_charge: RateCharge | None = None
    """What it was charged."""
    person: Caller | HubError | None = None
    """The user whose password came with it, or why there is none."""
    credentials: str = "token"
    """Of which kind they have to be."""
    version: str | None = None
    """Of the API; None until it is known to be one."""
    media: Media = PLAIN
    body: Any = None

    def __post_init__(self) -> None:
        self.headers = dict(self.scope["headers"])

    def text(self, name: bytes) -> str | None:
        """A header's value."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def accept(self) -> str:
        """The Accept header, its lines put together; empty without one."""
        lines = [value for name, value in self.scope["headers"] if name == b"accept"]
        return b", ".join(lines).decode("latin-1")

    @property
    def query(self) -> dict[str, str]:
        """Query parameters; of one that is repeated, the last."""
        given = self.scope["query_string"]
        return dict(parse_qsl(given.decode("latin-1"), keep_blank_values=True)) if given else {}


Handler = Callable[[Request], Awaitable[Response]]
