"""The client of a hub on another machine, for the deliveries of one of its pull hooks."""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from store.errors import Conflict, Invalid, Missing, StoreError, Unavailable

# A request for deliveries waits WAIT seconds at the hub. A connection may take PATIENCE seconds,
# an answer WAIT + PATIENCE. After them, a machine that slept notices that its connection is gone.
WAIT, PATIENCE = 25, 15


class RejectedByHub(StoreError):
    """The hub does not accept the token, or the token lacks the right."""


@dataclass(frozen=True, slots=True)
class LeasedItem:
    """A delivery under a lease, as the hub handed it out."""

    lease_id: int
    headers: list[tuple[bytes, bytes]]
    body: bytes = field(repr=False)


class RemoteHub:
    """One hook of a hub. `place` is its path within the API.

    A failed request raises Unavailable if it can be repeated, and another StoreError if not.
    """

    def __init__(self, client: httpx.AsyncClient, place: str, consumer: str) -> None:
        self._client = client
        self.place = place
        self._consumer = consumer

    async def fetch(self, batch: int, lease_seconds: int) -> list[LeasedItem]:
        """Return up to `batch` deliveries under leases, or an empty list after WAIT seconds."""
        wanted = {
            "consumer": self._consumer,
            "batch": batch,
            "lease_seconds": lease_seconds,
            "max_wait": WAIT,
        }
        found = await self._post("dequeue", wanted)
        return [
            LeasedItem(one["lease_id"], _raw(one["headers"]), b64decode(one["body"]))
            for one in found["deliveries"]
        ]

    async def acknowledge(self, lease_id: int, answer: Mapping[str, Any]) -> None:
        """Report the answer of the application. Raises Conflict if the lease is stale."""
        await self._post("ack", {"leases": [{"lease_id": lease_id, **answer}]})

    async def reject(self, lease_id: int, reason: str) -> None:
        """Report that the application did not answer. Raises Conflict if the lease is stale."""
        await self._post("nack", {"leases": [{"lease_id": lease_id, "reason": reason[:500]}]})

    async def extend(self, lease_ids: Sequence[int], lease_seconds: int) -> None:
        """Hold the leases for longer. Raises Conflict if one is stale."""
        await self._post("extend", {"leases": [*lease_ids], "lease_seconds": lease_seconds})

    async def _post(self, name: str, body: Mapping[str, Any]) -> Any:
        return await call(self._client, "POST", f"{self.place}/{name}", body)


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def connect(server: str, token: str) -> httpx.AsyncClient:
    """Return a client for the API at `server`."""
    return httpx.AsyncClient(
        base_url=server,
        headers={"Authorization": f"Bearer {token}"},
        timeout=httpx.Timeout(WAIT + PATIENCE, connect=PATIENCE),
    )


def repository_path(full_name: tuple[str, str]) -> str:
    """Return the path of a repository within the API."""
    owner, name = full_name
    return f"/repos/{quote(owner, safe='')}/{quote(name, safe='')}"


def hook_path(named: str) -> str:
    """Return the path of a hook that is named as OWNER/NAME/ID, or ORG/ID. Raises Invalid."""
    *owner, number = named.split("/")
    if number.isdecimal() and len(owner) == 2 and all(owner):
        return f"{repository_path((owner[0], owner[1]))}/hooks/{number}"
    if number.isdecimal() and len(owner) == 1 and owner[0]:
        return f"/orgs/{quote(owner[0], safe='')}/hooks/{number}"
    raise Invalid(f"{named!r} is no hook: write OWNER/NAME/ID, or ORG/ID")


async def call(
    client: httpx.AsyncClient, method: str, path: str, body: Mapping[str, Any] | None = None
) -> Any:
    """Return the JSON of a response of 2xx, or None if it has no body.

    Raises Unavailable if the request can be repeated, and another StoreError if not.
    """
    try:
        response = await client.request(method, path, json=body)
    except httpx.HTTPError as error:
        said = str(error) or type(error).__name__
        raise Unavailable(f"the hub cannot be reached: {said}") from None
    if response.is_success:
        return _json(response) if response.content else None
    raise _error(response)


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        # Such as the page of a proxy while the hub is down.
        host = response.request.url.host
        raise Unavailable(f"{host} answered {response.status_code} without JSON") from None


def _error(response: httpx.Response) -> StoreError:
    status = response.status_code
    said = _said(response)
    text = f"the hub answered {status}: {said}"
    if status in (401, 403):
        return RejectedByHub(text) if "rate limit" not in said else Unavailable(text)
    if status in (404, 410):
        return Missing(f"{text}: {response.request.url.path}")
    if status == 409:
        return Conflict(text)
    return Unavailable(text) if status >= 500 or status in (408, 429) else Invalid(text)


def _said(response: httpx.Response) -> str:
    """Return the message of an error of the API, with the ones of its `errors`."""
    try:
        body = response.json()
        reasons = [str(one["message"]) for one in body.get("errors") or () if "message" in one]
        return ": ".join([str(body["message"]), *reasons])
    except (ValueError, KeyError, TypeError, AttributeError):
        return response.reason_phrase
