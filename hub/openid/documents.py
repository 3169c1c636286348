"""Fetching the provider's documents, with limits on their size and time."""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any

import httpx

from hub.openid import bounded_json
from hub.openid.errors import ProviderUnavailable

# A key set with certificate chains has some 20 kB.
MOST_BYTES = 256 * 1024
# Seconds for a document.
PATIENCE = 10.0
# The media type of claims that the userinfo endpoint signs (OpenID Connect Core, 5.3.2).
SIGNED = "application/jwt"


async def fetch(
    tls: ssl.SSLContext, method: str, url: str, **given: Any
) -> tuple[int, dict[str, Any]]:
    """Return the status and the JSON object at a URL. Redirects are not followed.

    Raises ProviderUnavailable if there is none within PATIENCE and MOST_BYTES.
    """
    try:
        async with (
            asyncio.timeout(PATIENCE),
            httpx.AsyncClient(trust_env=False, verify=tls) as client,
        ):
            return await _fetch(client, method, url, **given)
    except TimeoutError:
        raise ProviderUnavailable(f"{url} did not answer within {PATIENCE:g} s") from None
    # httpx raises one of the last two for a host name that cannot be encoded.
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        why = str(error) or type(error).__name__
        raise ProviderUnavailable(f"{url} cannot be reached: {why}") from None


async def _fetch(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    headers: Mapping[str, str] | None = None,
    **given: Any,
) -> tuple[int, dict[str, Any]]:
    # Not compressed, so that a small answer cannot become a large one.
    fixed = {"accept": "application/json", "accept-encoding": "identity"}
    headers = {**(headers or {}), **fixed}
    async with client.stream(method, url, headers=headers, timeout=PATIENCE, **given) as answer:
        body = bytearray()
        async for part in answer.aiter_raw():
            body += part
            if len(body) > MOST_BYTES:
                raise ProviderUnavailable(f"the document at {url} has more than {MOST_BYTES} bytes")
    try:
        found = bounded_json.parse(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ProviderUnavailable(_no_object(url, answer))
    return answer.status_code, found


def _no_object(url: str, answer: httpx.Response) -> str:
    if answer.headers.get("content-type", "").partition(";")[0].strip().lower() == SIGNED:
        return f"{url} signs or encrypts its answer. Let it send plain JSON to this client"
    return f"{url} answered {answer.status_code}, and not with a JSON object"
