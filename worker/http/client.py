"""The HTTP client for everything except deliveries: httpx over the guarded transport."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from worker.http.answer import MAX_BODY
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard, Refused
from worker.http.transport import HttpSender

if TYPE_CHECKING:
    import httpx

# The encoding of header values. It can express every byte.
ENCODING = "iso-8859-1"
# The transport sends each request to the endpoint in its extensions. So httpx decodes no host, and
# cannot refuse one that the guard accepts.
UNUSED_URL = "http://endpoint.invalid/"


class RequestFailed(Exception):
    """No answer came. The text is "stage: message"."""


@dataclass(frozen=True, slots=True)
class FetchedResponse:
    """An answer.

    `body` is as it was sent, not decompressed. `truncated` says whether there was more. If the
    answer broke off, `error` says why.
    """

    status: int
    headers: "httpx.Headers"
    body: bytes
    truncated: bool
    error: str | None

    def header(self, name: str) -> str | None:
        """Return the first value of a header. Return None if there is none."""
        return next(iter(self.headers.get_list(name)), None)


class GuardedClient:
    """A client for endpoints of the guard. It follows no redirect and keeps no cookie."""

    def __init__(self, guard: Guard, sender: HttpSender) -> None:
        self._guard, self._sender = guard, sender
        self._client: httpx.AsyncClient | None = None

    def endpoint(self, url: str) -> Endpoint:
        """Return the parts of a URL, for `request`. Raises RequestFailed if it is refused."""
        try:
            return self._guard.endpoint(url)
        except Refused as error:
            raise RequestFailed(f"guard: {error}") from None

    async def request(
        self,
        method: str,
        endpoint: Endpoint,
        *,
        deadline: float,
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        max_bytes: int = MAX_BODY,
    ) -> FetchedResponse:
        """Send a request with this body, and read up to `max_bytes` of the answer.

        `deadline` in seconds covers the whole exchange. If no answer came, raises RequestFailed
        with the text "stage: message".
        """
        # Imported here, because importing httpx slows down the start of a worker, and most workers
        # never send such a request.
        import httpx

        from worker.http.httpx_transport import open_client

        self._client = self._client or open_client(self._guard, self._sender)
        fields = httpx.Headers(headers, encoding=ENCODING)
        extensions = {"endpoint": endpoint, "max_bytes": max_bytes}
        try:
            async with self._client.stream(
                method,
                UNUSED_URL,
                headers=fields,
                content=content,
                timeout=deadline,
                extensions=extensions,
            ) as response:
                return await _read(response)
        except httpx.TransportError as error:
            raise RequestFailed(str(error)) from None

    async def close(self) -> None:
        """Close the client. The owner of the transport closes that."""
        if self._client is not None:
            await self._client.aclose()


async def _read(response: "httpx.Response") -> FetchedResponse:
    from httpx import Headers, TransportError

    body, error = b"", None
    try:
        async for part in response.aiter_raw():
            body += part
    except TransportError as broken:
        error = str(broken)
    headers = Headers(response.extensions["headers"], encoding=ENCODING)
    truncated = response.extensions["truncated"]
    return FetchedResponse(response.status_code, headers, body, truncated, error)
