"""Deliveries with access tokens from a real OAuth 2.0 server."""

import asyncio
from base64 import b64decode
from typing import Any

import httpx
import pytest
from certificates import pem_of
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from oauth2_server import (
    CLIENT_ID,
    CLIENT_SECRET,
    Client,
    TokenServer,
    bearers,
    issuing,
)
from receivers import LOOPBACK, OK, Call, ok, says, serving
from worker_harness import WorkerHarness

from store.clock import Clock
from worker.endpoint_access.token_cache import TokenCache
from worker.endpoint_access.token_request import (
    TokenCredentials,
    TokenFailed,
    client_assertion,
    read_token,
    token_request,
)
from worker.http.client import FetchedResponse
from worker.http.guard import Guard
from worker.http.transport import Transport

NOT_OK = b"HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n"


def asking(server: TokenServer, **more: Any) -> dict[str, Any]:
    usual = {"token_url": server.url, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    return {"oauth2": usual | more}


async def test_one_token_for_many_deliveries(harness: WorkerHarness) -> None:
    async with issuing() as server, serving(ok) as receiver:
        options = asking(server, scope="deliver", audience="bells")
        hook_ids = [harness.hook(receiver.url + str(n), options=options) for n in range(3)]
        await harness.work(real=True)
        await harness.events(4)
        await harness.over(delivered=12)
        assert server.issued == ["token-number-1"], "concurrent deliveries share one token request"
        assert bearers(receiver) == server.issued * 12
        assert server.forms == [
            {"grant_type": "client_credentials", "scope": "deliver", "audience": "bells"}
        ]
        for hook_id in hook_ids:
            for attempt in await harness.recorded(hook_id, 4):
                assert attempt["request_headers"]["Authorization"] == "Bearer ********"
                assert "token-number" not in repr(attempt)
                assert "hunter2" not in repr(attempt)
                assert "token" in attempt["timings"]


async def test_a_token_is_masked_in_the_answer(harness: WorkerHarness) -> None:
    async def repeating(call: Call) -> None:
        await call.request()
        said = bearers(call.receiver)[-1].encode()
        await call.say(b"HTTP/1.1 200 X\r\nContent-Length: %d\r\n\r\n" % len(said), said)

    async with issuing() as server, serving(repeating) as receiver:
        hook_id = harness.hook(receiver.url, options=asking(server))
        await harness.work(real=True)
        await harness.event()
        (attempt,) = await harness.recorded(hook_id, 1)
        assert attempt["response_body"] == "********"


@pytest.mark.parametrize("rejections", [1, 2])
async def test_a_rejected_token_is_replaced_once_in_the_same_attempt(
    harness: WorkerHarness, rejections: int
) -> None:
    async def rejecting(call: Call) -> None:
        while True:
            await call.request()
            await call.say(NOT_OK if len(call.receiver.heads) <= rejections else OK)

    async with issuing() as server, serving(rejecting) as receiver:
        hook_id = harness.hook(receiver.url, options=asking(server) | {"retries": [0]})
        await harness.work(real=True)
        await harness.event()
        (attempt,) = await harness.recorded(hook_id, 1)
        assert attempt["status_code"] == (200 if rejections == 1 else 401)
        assert bearers(receiver) == ["token-number-1", "token-number-2"]
        assert server.issued == bearers(receiver)


async def test_tokens_are_renewed_before_their_end(harness: WorkerHarness) -> None:
    async with issuing(lifetime=100) as server, serving(ok) as receiver:
        harness.hook(receiver.url, options=asking(server))
        await harness.work(real=True)
        for number, seconds in enumerate([0, 89, 2], 1):
            harness.clock.advance(seconds)
            await harness.event()
            await harness.over(delivered=number)
        first, second = server.issued
        assert bearers(receiver) == [first, first, second]


async def test_a_token_is_used_to_its_end_if_it_cannot_be_renewed(harness: WorkerHarness) -> None:
    async with issuing(lifetime=1000) as server, serving(ok) as receiver:
        harness.hook(receiver.url, options=asking(server))
        await harness.work(real=True)
        await harness.event()
        await harness.over(delivered=1)
        server.failing = True
        harness.clock.advance(970)
        await harness.event()
        await harness.over(delivered=2)
        assert bearers(receiver) == server.issued * 2
        assert len(server.forms) == 2


async def test_errors_of_the_token_url_are_named_and_retried(harness: WorkerHarness) -> None:
    async with issuing() as server, serving(ok) as receiver:
        wrong = asking(server, client_secret="wrong")
        inside = asking(server, token_url="http://10.0.0.1/token")
        failing = [
            (wrong, "token: the token URL answered 401 invalid_client"),
            (inside, "token: guard: 10.0.0.1 is refused"),
        ]
        hooks = [
            harness.hook(f"{receiver.url}{n}", options=options | {"retries": [0, 3600]})
            for n, (options, _) in enumerate(failing)
        ]
        await harness.work(real=True)
        await harness.event()
        for hook_id, (_, said) in zip(hooks, failing, strict=True):
            (attempt,) = await harness.recorded(hook_id, 1)
            assert attempt["error"].startswith(said)
            assert attempt["status_code"] is None
            assert attempt["request_headers"]["Authorization"] == "Bearer ********"
        await harness.over(waiting=2)
        assert receiver.heads == []


async def test_a_secret_in_an_error_of_the_token_url_is_masked(harness: WorkerHarness) -> None:
    said = b'{"error": "invalid_client %b"}' % CLIENT_SECRET.encode()
    head = b"HTTP/1.1 400 X\r\nContent-Length: %d\r\n\r\n" % len(said)
    async with serving(says(head, said)) as server:
        oauth2 = {"token_url": server.url, "client_id": "a", "client_secret": CLIENT_SECRET}
        hook_id = harness.hook(options={"oauth2": oauth2, "retries": [0]})
        await harness.work(real=True)
        await harness.event()
        (attempt,) = await harness.recorded(hook_id, 1)
        assert attempt["error"] == "token: the token URL answered 400 invalid_client ********"


# Token requests without a worker. They use the system clock, because the server checks the expiry
# of assertions by it.

KEYS = {
    "RSA": lambda: rsa.generate_private_key(65537, 2048),
    "EC ": lambda: ec.generate_private_key(ec.SECP256R1()),
    "OKP": ed25519.Ed25519PrivateKey.generate,
}


def cache_of(transport: Transport) -> TokenCache:
    return TokenCache(Guard(allow_networks=LOOPBACK), transport, Clock())


@pytest.fixture
async def transport() -> Any:
    made = Transport(Guard(allow_networks=LOOPBACK))
    yield made
    await made.close()


# Most servers know the name EdDSA. RFC 9864 replaced it by Ed25519, which they do not know yet.
@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")
@pytest.mark.parametrize("kind", KEYS)
async def test_a_client_authenticates_with_a_private_key(transport: Transport, kind: str) -> None:
    key: Any = KEYS[kind]()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    async with issuing(Client("client_assertion_jwt", kind + public.decode())) as server:
        credentials = TokenCredentials(
            server.url, CLIENT_ID, "private_key_jwt", private_key=pem_of(key), key_id="k1"
        )
        assert await cache_of(transport).get(credentials) == server.issued[0]
        assert "client_secret" not in server.forms[0]


async def test_a_client_authenticates_with_a_secret_in_the_form(transport: Transport) -> None:
    async with issuing(Client("client_secret_post")) as server:
        credentials = TokenCredentials(
            server.url, CLIENT_ID, "client_secret_post", client_secret=CLIENT_SECRET
        )
        assert await cache_of(transport).get(credentials) == server.issued[0]


async def test_all_waiters_get_the_one_failure(transport: Transport) -> None:
    async with issuing() as server:
        server.failing = True
        cache = cache_of(transport)
        credentials = TokenCredentials(server.url, CLIENT_ID, client_secret=CLIENT_SECRET)
        asked = [cache.get(credentials) for _ in range(5)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [str(one) for one in found] == ["the token URL answered 503"] * 5
        assert len(server.forms) == 1
        server.failing = False
        assert await cache.get(credentials) == server.issued[0]


async def test_a_cancelled_request_does_not_hold_others(transport: Transport) -> None:
    async with issuing() as server:
        cache = cache_of(transport)
        credentials = TokenCredentials(server.url, CLIENT_ID, client_secret=CLIENT_SECRET)
        first, second = (asyncio.create_task(cache.get(credentials)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(TokenFailed, match="interrupted"):
            await second
        assert await cache.get(credentials) == server.issued[-1]


def test_both_parts_of_basic_are_encoded_as_in_a_form() -> None:
    credentials = TokenCredentials("https://t.example/", "a:b", client_secret="c d%")
    headers, body = token_request(credentials, 0)
    assert b64decode(headers["Authorization"].removeprefix("Basic ")) == b"a%3Ab:c%20d%25"
    assert body == b"grant_type=client_credentials"


def test_no_repr_shows_a_secret() -> None:
    key = pem_of(ec.generate_private_key(ec.SECP256R1()))
    credentials = TokenCredentials("https://t.example/", "a", client_secret="hunter2")
    assert "hunter2" not in repr(credentials)
    with_key = TokenCredentials("https://t.example/", "a", "private_key_jwt", private_key=key)
    assert "PRIVATE" not in repr(with_key)
    assert client_assertion(with_key, 0) != client_assertion(with_key, 0), (
        "each assertion has its own id"
    )


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b"no", "no usable access_token"),
        (200, b"[]", "no usable access_token"),
        (200, b'{"access_token": ""}', "no usable access_token"),
        (200, b'{"access_token": "a\\r\\nb"}', "no usable access_token"),
        (200, b'{"access_token": 1}', "no usable access_token"),
        (200, b'{"access_token": "a", "token_type": "mac"}', "another type"),
        (302, b"", "answered 302"),
        (400, b'{"error": "invalid_scope"}', "answered 400 invalid_scope"),
        (400, b'{"error": "\\u0000"}', "answered 400$"),
    ],
)
def test_answers_without_a_token(status: int, body: bytes, said: str) -> None:
    with pytest.raises(TokenFailed, match=said):
        read_token(FetchedResponse(status, httpx.Headers(), body, truncated=False, error=None))


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("60", 60), (60, 60), (None, 300), ("soon", 300), (0, 300), (-1, 300), (1e9, 86_400)],
)
def test_the_lifetime_of_a_token_is_read(given: Any, seconds: float) -> None:
    text = "null" if given is None else f'"{given}"' if isinstance(given, str) else str(given)
    body = b'{"access_token":"a","token_type":"bearer","expires_in":%b}' % text.encode()
    answer = FetchedResponse(200, httpx.Headers(), body, truncated=False, error=None)
    assert read_token(answer).lifetime == seconds
