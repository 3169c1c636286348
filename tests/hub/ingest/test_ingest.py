"""Events that a client posts to the URL of a topic, with a token."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
import pytest
from assertions import assert_error, attempted, waiting
from hub_client import open_client
from incoming_events import hook_for, kept, refused
from transactions import transaction
from waiting import until

from hub.app import create_app
from hub.ingest.auth_batcher import MOST, AuthBatcher
from hub.settings import HubSettings
from store import Store
from store.accounts import accounts, tokens
from store.clock import MovableClock
from store.delivery import event_queries, events
from store.errors import Busy, Contended, Missing, Unavailable
from store.repositories import repositories

ORIGIN = "https://forge.example"
TOPIC = "/octo/hello/events/push"


@pytest.mark.parametrize("path", [f"{ORIGIN}{TOPIC}", TOPIC, f"{TOPIC}.json"])
async def test_an_event_is_kept_and_goes_to_its_subscribers(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    push, every = await hook_for(client, "push"), await hook_for(client, "*")
    issues = await hook_for(client, "issues")
    body = b'{"action": "x",  "installation": {"id": 5}}'
    answer = await client.post(path, content=body)
    assert answer.status_code == 202
    reported = answer.json()
    row = store.read_sync(lambda db: events.get(db, reported["event_id"]))
    assert row is not None
    assert reported == {"id": row["guid"], "event_id": row["id"], "deliveries": 2}
    assert (row["name"], row["action"], row["installation_id"]) == ("push", "x", 5)
    assert row["repo_id"] == row["scope"] == 1
    assert row["body"] == body, "byte by byte"
    assert [waiting(store, hook)[-1]["name"] for hook in (push, every, issues)] == [
        "push", "push", "ping"
    ]  # fmt: skip


async def test_many_senders_of_one_moment_share_short_reads(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes, read = [], store.read

    def noted(function: Any, keys: list[Any]) -> Any:
        sizes.append(len(keys))
        return read(function, keys)

    monkeypatch.setattr(store, "read", noted)
    batcher = AuthBatcher(store)
    names = [*map(str, range(MOST)), "hello"]
    asked = (batcher.ask(seed.token, "octo", name) for name in names)
    *unknown, last = await asyncio.gather(*asked, return_exceptions=True)
    assert sizes == [MOST, 1]
    assert {type(answer) for answer in unknown} == {Missing}
    assert isinstance(last, tuple)


async def test_an_event_without_subscribers_is_kept(
    client: httpx.AsyncClient, store: Store
) -> None:
    assert (await client.post(TOPIC, json={})).json()["deliveries"] == 0
    unwanted = store.read_sync(lambda db: event_queries.newest(db, limit=10, unwanted=True))
    assert [row["name"] for row in unwanted] == ["push"]


@pytest.mark.parametrize(
    "header",
    ["X-Service-Delivery", "X-GitHub-Delivery", "X-Gitea-Delivery", "x-gogs-delivery",
     "X-Forgejo-Delivery", "Idempotency-Key"],
)  # fmt: skip
async def test_the_delivery_id_makes_posting_again_safe(
    client: httpx.AsyncClient, store: Store, header: str
) -> None:
    hook = await hook_for(client, "push")
    first = await client.post(TOPIC, json={"n": 1}, headers={header: "d-1"})
    await hook_for(client, "push", "issues")
    attempted(store, hook)
    again = await client.post(TOPIC, json={"n": 1}, headers={header: "d-1"})
    assert again.status_code == first.status_code == 202
    assert again.json() == first.json()
    assert first.json()["id"] == "d-1"
    other = await client.post(TOPIC, json={"n": 2}, headers={header: "d-1"})
    assert_error(other, 409, "delivery id 'd-1' was used for another event")
    renamed = await client.post("/octo/hello/events/issues", json={"n": 1}, headers={header: "d-1"})
    assert_error(renamed, 409)
    assert len([row for row in kept(store) if row["name"] == "push"]) == 1
    assert {row["guid"] for row in refused(store)} == {"d-1"}


async def test_a_delivery_id_is_the_repository_s(client: httpx.AsyncClient) -> None:
    header = {"X-Service-Delivery": "d-1"}
    first = await client.post(TOPIC, json={"n": 1}, headers=header)
    second = await client.post("/octo/vault/events/push", json={"n": 2}, headers=header)
    assert first.json()["event_id"] != second.json()["event_id"]


async def test_a_former_name_leads_to_the_repository(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    await hook_for(client, "push")
    store.write_sync(repositories.rename, seed.hello, "bonjour")
    store.write_sync(repositories.rename, seed.vault, "safe")
    answer = await client.post(TOPIC, json={})
    assert (answer.status_code, answer.json()["deliveries"]) == (202, 1)
    stranger = {"Authorization": f"token {seed.reader_token}"}
    hidden = await client.post("/octo/vault/events/push", json={}, headers=stranger)
    assert_error(hidden, 404, "Not Found")
    store.write_sync(repositories.create, seed.octo["id"], "hello")
    assert (await client.post(TOPIC, json={})).json()["deliveries"] == 0


@pytest.mark.parametrize("given", ["", " ", "a b", "x" * 129, "ü"])
async def test_a_wrong_delivery_id_is_refused(
    client: httpx.AsyncClient, store: Store, given: str
) -> None:
    header = {"X-Service-Delivery": given.encode()}
    answer = await client.post(TOPIC, json={}, headers=header)
    assert_error(answer, 400, "a delivery id must be 1 to 128 visible ASCII characters")
    assert kept(store) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "Problems parsing JSON"),
        (b"{", "Problems parsing JSON"),
        (b"{}x", "Problems parsing JSON"),
        (b'{"a": "\xff"}', "Problems parsing JSON"),
        (b'{"a": "\\ud800"}', "Problems parsing JSON"),
        (b'{"a":' * 2000 + b"1" + b"}" * 2000, "Problems parsing JSON"),
        (b"[]", "Body should be a JSON object"),
        (b"null", "Body should be a JSON object"),
        (b'"push"', "Body should be a JSON object"),
    ],
)
async def test_wrong_bodies_are_refused(
    client: httpx.AsyncClient, store: Store, body: bytes, message: str
) -> None:
    header = {"X-Service-Delivery": "d-1"}
    assert_error(await client.post(TOPIC, content=body, headers=header), 400, message)
    assert kept(store) == []
    (row,) = refused(store)
    assert row["reason"] == message
    assert (row["sender"], row["event"], row["guid"]) == ("octo", "push", "d-1")
    assert row["size"] == len(body)
    assert row["path"].endswith(TOPIC)
    assert row["address"] == "127.0.0.1"


@pytest.mark.parametrize(
    ("body", "action", "installation"),
    [
        ({"action": "x" * 101}, None, None),
        ({"action": 5, "installation": {"id": True}}, None, None),
        ({"action": "nul\0", "installation": {"id": 2**63}}, None, None),
        ({"action": "ok", "installation": {"id": -1}}, "ok", None),
        ({"action": None, "installation": 7}, None, None),
        ({"action": "x" * 100, "installation": {"id": 0}}, "x" * 100, 0),
    ],
)
async def test_action_and_installation_are_stored_if_they_are_valid(
    client: httpx.AsyncClient,
    store: Store,
    body: dict[str, Any],
    action: str | None,
    installation: int | None,
) -> None:
    content = orjson.dumps(body)
    assert (await client.post(TOPIC, content=content)).status_code == 202
    (row,) = kept(store)
    assert (row["action"], row["installation_id"]) == (action, installation)


async def test_the_record_has_the_address_of_the_client_behind_a_proxy(
    store: Store, seed: Any, settings: HubSettings
) -> None:
    settings.trusted_proxies = ["127.0.0.0/8"]
    headers = {"Authorization": f"Bearer {seed.token}", "X-Forwarded-For": "203.0.113.9"}
    async with open_client(store, settings, headers=headers) as client:
        assert_error(await client.post(TOPIC, content=b"[]"), 400)
        (row,) = refused(store)
    assert row["address"] == "203.0.113.9"


@pytest.mark.parametrize("name", ["nothing", "*", "PUSH", "push.jso", "%00", "x" * 300])
async def test_an_unknown_event_is_refused(
    client: httpx.AsyncClient, store: Store, name: str
) -> None:
    answer = await client.post(f"/octo/hello/events/{name}", json={})
    content = assert_error(answer, 422)
    assert content["message"].startswith('Invalid event: "')
    (row,) = refused(store)
    assert "\0" not in row["path"] + row["event"] + row["reason"]


async def test_an_event_beyond_the_bound_is_refused(
    client: httpx.AsyncClient, store: Store, settings: HubSettings
) -> None:
    frame = len(b'{"a":""}')
    most = b'{"a":"' + b"x" * (settings.max_event_bytes - frame) + b'"}'
    assert (await client.post(TOPIC, content=most)).status_code == 202
    answer = await client.post(TOPIC, content=most + b" ")
    content = assert_error(answer, 413)
    assert "65536 bytes (0.0625 MB)" in content["message"]
    (row,) = refused(store)
    assert (row["sender"], row["size"]) == ("octo", len(most) + 1)
    assert row["reason"] == content["message"]


async def chunks(count: int, size: int = 4096) -> AsyncIterator[bytes]:
    yield b'{"a":"'
    for _ in range(count):
        yield b"x" * size
    yield b'"}'


async def test_a_body_in_chunks_is_stopped_at_the_bound(
    client: httpx.AsyncClient, store: Store
) -> None:
    assert (await client.post(TOPIC, content=chunks(15))).status_code == 202
    answer = await client.post(TOPIC, content=chunks(20))
    assert_error(answer, 413)
    assert "Connection" not in answer.headers
    endless = await client.post(TOPIC, content=chunks(500))
    assert_error(endless, 413)
    assert endless.headers["Connection"] == "close"
    assert len(kept(store)) == 1
    assert len(refused(store)) == 2


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "identity, br"])
async def test_a_compressed_body_is_refused_by_name(
    client: httpx.AsyncClient, store: Store, coding: str
) -> None:
    answer = await client.post(
        TOPIC, content=gzip.compress(b"{}"), headers={"Content-Encoding": coding}
    )
    message = f"The body is compressed (Content-Encoding: {coding}). Send it uncompressed."
    assert_error(answer, 415, message)
    assert answer.headers["Accept-Encoding"] == "identity"
    assert [row["reason"] for row in refused(store)] == [message]
    assert kept(store) == []


@pytest.mark.parametrize("coding", ["identity", "utf-8", ""])
async def test_a_plain_body_may_have_a_coding(client: httpx.AsyncClient, coding: str) -> None:
    answer = await client.post(TOPIC, content=b"{}", headers={"Content-Encoding": coding})
    assert answer.status_code == 202


@pytest.mark.parametrize("length", ["x", "-1", "1" * 30])
async def test_a_wrong_length_is_refused(client: httpx.AsyncClient, length: str) -> None:
    answer = await client.post(TOPIC, content=b"{}", headers={"Content-Length": length})
    assert_error(answer, 413 if length.isdigit() else 400)


@pytest.mark.parametrize("path", [TOPIC, "/events"])
async def test_a_token_that_is_revoked_while_its_body_arrives_sends_nothing(
    client: httpx.AsyncClient, store: Store, seed: Any, clock: MovableClock, path: str
) -> None:
    async def slow(*, revoked: bool) -> AsyncIterator[bytes]:
        yield b"{"
        clock.advance(2)
        if revoked:
            store.write_sync(lambda db: db.execute("DELETE FROM token"))
        yield b'"event": "push", "repository": "octo/hello", "payload": {}}'

    kind = {"Content-Type": "application/x-ndjson" if path == "/events" else "application/json"}
    for revoked, status in ((False, 202), (True, 401)):
        answer = await client.post(path, content=slow(revoked=revoked), headers=kind)
        assert answer.status_code == status
    assert len(kept(store)) == 1


async def test_a_body_that_does_not_come_is_refused_after_the_timeout(
    store: Store, seed: Any, settings: HubSettings
) -> None:
    async def judge(url: str) -> None: ...

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    quick = settings.model_copy(update={"body_timeout": 0.01})
    transport = httpx.ASGITransport(create_app(store, quick, judge))
    headers = {"Authorization": f"token {seed.token}"}
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
        answer = await client.post(TOPIC, content=slow(), headers=headers)
    assert_error(answer, 408)
    await store.close()


async def test_bodies_are_bounded_together(store: Store, seed: Any, settings: HubSettings) -> None:
    async def judge(url: str) -> None: ...

    go = asyncio.Event()
    began = asyncio.Event()

    async def held() -> AsyncIterator[bytes]:
        yield b'{"a":"' + b"x" * 3000
        began.set()
        await go.wait()
        yield b'"}'

    small = settings.model_copy(update={"max_held_bytes": 4096})
    transport = httpx.ASGITransport(create_app(store, small, judge))
    headers = {"Authorization": f"token {seed.token}"}
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=headers) as client:
        first = asyncio.create_task(client.post(TOPIC, content=held()))
        await began.wait()
        await asyncio.sleep(0)
        busy = await client.post(TOPIC, json={"a": "x" * 2000})
        content = assert_error(busy, 503)
        assert busy.headers["Retry-After"] == "1"
        assert content["code"] == "unavailable"
        go.set()
        assert (await first).status_code == 202
        assert (await client.post(TOPIC, json={"a": "x" * 2000})).status_code == 202
    await store.close()


async def test_unfinished_bodies_of_a_client_make_room_for_other_clients(
    store: Store, seed: Any, settings: HubSettings
) -> None:
    """A client without credentials cannot keep out the events of others."""

    async def judge(url: str) -> None: ...

    def client_at(address: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(app, client=(address, 1))
        headers = {"Authorization": f"token {seed.token}"}
        return httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=headers)

    began: list[int] = []

    async def unfinished(size: int) -> AsyncIterator[bytes]:
        yield b"x" * size
        began.append(size)
        await asyncio.Event().wait()

    app = create_app(store, settings.model_copy(update={"max_held_bytes": 8192}), judge)
    async with client_at("192.0.2.1") as hostile, client_at("192.0.2.2") as other:
        sizes = [3000, 4000, 1000]
        tasks = [
            asyncio.create_task(hostile.post(TOPIC, content=unfinished(size))) for size in sizes
        ]
        await until(lambda: sorted(began) == sorted(sizes))
        # The largest body of the address makes room, and its other bodies go on.
        assert (await other.post(TOPIC, json={"a": "x" * 2000})).status_code == 202
        assert_error(await tasks[1], 503)
        assert not tasks[0].done()
        assert not tasks[2].done()
        # The same address gets no room by that.
        assert_error(await hostile.post(TOPIC, json={"a": "x" * 5000}), 503)
        assert (await other.post(TOPIC, json={"a": "x" * 8000})).status_code == 503
        assert (await other.post(TOPIC, json={"a": "x" * 3500})).status_code == 202
        for task in tasks:
            task.cancel()
    await store.close()


@pytest.mark.parametrize(
    ("error", "after"),
    [
        (Busy("too much is waiting"), "1"),
        (Unavailable("disk /x is full"), "5"),
        (Contended("disk /x is locked"), "5"),
        # When the server ends, it cancels requests that take too long.
        (asyncio.CancelledError(), "5"),
    ],
)
async def test_an_event_is_refused_while_the_store_is_busy(
    client: httpx.AsyncClient,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    after: str,
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(store, "batch", fail)
    answer = await client.post(TOPIC, json={})
    content = assert_error(answer, 503)
    assert answer.headers["Retry-After"] == after
    assert "disk" not in content["message"]


async def test_events_need_a_token_that_may_push(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    with transaction(store) as db:
        writer = accounts.create(db, "writer")
        repositories.grant(db, seed.hello["id"], writer["id"], "write")

        def of(**what: Any) -> str:
            return tokens.create(db, writer["id"], **what)[0]

        found = {
            "repo": of(scopes=["repo"]),
            "public": of(scopes=["public_repo"]),
            "hooks": of(scopes=["admin:repo_hook"]),
            "fine": of(kind="fine_grained", permissions={"contents": "write"}),
            "look": of(kind="fine_grained", permissions={"contents": "read"}),
            "app": of(kind="installation", permissions={"webhooks": "write"}),
        }

    async def post(token: str, repository: str = "hello") -> httpx.Response:
        header = {"Authorization": f"token {token}"}
        return await client.post(f"/octo/{repository}/events/push", json={}, headers=header)

    for name in ("repo", "public", "fine"):
        assert (await post(found[name])).status_code == 202, name
        assert_error(await post(found[name], "vault"), 404, "Not Found")
        assert_error(await post(found[name], "nothing"), 404, "Not Found")
    assert_error(await post(found["hooks"]), 403)
    reason = "Resource not accessible by "
    assert_error(await post(found["look"]), 403, reason + "personal access token")
    assert_error(await post(found["app"]), 403, reason + "integration")
    answer = await post(seed.reader_token)
    assert_error(answer, 403, "Must have push access to Repository.")
    assert_error(await post("x"), 401, "Bad credentials")
    del client.headers["Authorization"]
    assert_error(await client.post(TOPIC, json={}), 401, "Requires authentication")
