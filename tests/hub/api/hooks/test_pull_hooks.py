"""Pull hooks: their deliveries are fetched under leases, answered, and recorded as attempts."""

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from assertions import assert_error
from bearer import bearer
from waiting import until

from store import Row, Store
from store.accounts import accounts, tokens
from store.clock import SECOND, MovableClock
from store.delivery import attempts, delivery_queries
from store.errors import Conflict
from store.hook_state import hook_pauses
from store.hooks import hooks
from store.pull import consumers
from worker.signing.sign import verify_hub, verify_standard

HOOKS = "/repos/octo/hello/hooks"
TOPIC = "/octo/hello/events/push"
SECRET = "ring the bells"
PAYLOAD = b'{"ref": "refs/heads/main", "n": 12345678901234567890}'


@pytest.fixture
async def path(client: httpx.AsyncClient) -> AsyncIterator[str]:
    """The path of a pull hook, whose ping was fetched and acknowledged."""
    yield (path := await made(client))
    assert (await client.delete(path)).status_code in (204, 404)


async def made(client: httpx.AsyncClient, name: str = "ci", **members: Any) -> str:
    config = {"url": f"pull:{name}", "content_type": "json", "secret": SECRET}
    answer = await client.post(HOOKS, json={"name": "web", "config": config, **members})
    assert answer.status_code == 201, answer.text
    path = f"{HOOKS}/{answer.json()['id']}"
    (ping,) = await fetched(client, path)
    assert ping["event"] == "ping"
    assert (await acked(client, path, ping)).status_code == 200
    return path


def hook_id(path: str) -> int:
    return int(path.rpartition("/")[2])


async def post(
    client: httpx.AsyncClient, guid: str = "g-1", payload: bytes = PAYLOAD, **headers: str
) -> None:
    headers = {"X-GitHub-Delivery": guid} | headers
    assert (await client.post(TOPIC, content=payload, headers=headers)).status_code == 202


async def fetched(client: httpx.AsyncClient, path: str, **body: Any) -> list[dict[str, Any]]:
    answer = await client.post(f"{path}/dequeue", json=body)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["deliveries"]
    return found


async def acked(
    client: httpx.AsyncClient, path: str, *leased: dict[str, Any], **answer: Any
) -> httpx.Response:
    leases = [{"lease_id": one["lease_id"], **answer} for one in leased]
    return await client.post(f"{path}/ack", json={"leases": leases})


async def nacked(
    client: httpx.AsyncClient, path: str, leased: dict[str, Any], **how: Any
) -> httpx.Response:
    leases = [{"lease_id": leased["lease_id"], **how}]
    return await client.post(f"{path}/nack", json={"leases": leases})


def recorded(store: Store, path: str) -> list[Row]:
    """The attempts to deliver events named `push`, oldest first."""
    rows = store.read_sync(attempts.page, hook_id(path), limit=50, event="push")
    return [store.read_sync(attempts.get, hook_id(path), row["id"]) or {} for row in reversed(rows)]


def states(store: Store, path: str) -> list[str]:
    rows = store.read_sync(delivery_queries.page, limit=50, hook_id=hook_id(path), event="push")
    return [row["state"] for row in reversed(rows)]


async def test_a_delivery_has_the_headers_and_bytes_of_a_push(
    client: httpx.AsyncClient, path: str
) -> None:
    await post(client)
    (one,) = await fetched(client, path, consumer="laptop", batch=10)
    body, headers = b64decode(one["body"]), one["headers"]
    assert body == PAYLOAD
    assert (one["guid"], one["event"], one["attempt"], one["redelivery"]) == (
        "g-1",
        "push",
        1,
        False,
    )
    assert one["expires_at"] == "2026-11-21T07:34:00Z"
    assert headers["X-GitHub-Event"] == "push"
    assert headers["Content-Length"] == str(len(PAYLOAD))
    assert verify_hub(SECRET, body, headers["X-Hub-Signature-256"])
    assert verify_standard(
        SECRET, "g-1", headers["webhook-timestamp"], body, headers["webhook-signature"]
    )
    assert await fetched(client, path) == []


async def test_a_receiver_with_either_secret_gets_through_a_rotation(
    client: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    """The receiver checks one header alone, and answers 401 if another secret made it."""
    path = await made(client, delivery={"retries": [0, 60, 60]})
    rotated = {"secret": "toll the bells", "secret_overlap": 86_400}
    assert (await client.patch(f"{path}/config", json=rotated)).status_code == 200

    async def takes(secret: str, *guids: str) -> list[bool]:
        for guid in guids:
            await post(client, guid)
        taken = []
        while len(taken) < 9 and (found := await fetched(client, path, batch=9)):
            for one in found:
                signature = one["headers"]["X-Hub-Signature-256"]
                taken.append(verify_hub(secret, b64decode(one["body"]), signature))
                await acked(client, path, one, status=200 if taken[-1] else 401)
            clock.advance(90)
        return taken

    assert await takes(SECRET, "a") == [True]
    assert await takes("toll the bells", "b", "c") == [False, False, True, True]
    assert await takes("toll the bells", "d") == [True]
    assert await takes(SECRET, "e") == [False, True]
    assert await takes("toll the bells", "f") == [True]
    assert states(store, path) == ["delivered"] * 6


async def test_an_answer_to_a_delivery_from_before_a_rotation_is_no_sign_of_the_new_secret(
    client: httpx.AsyncClient, clock: MovableClock
) -> None:
    path = await made(client, delivery={"retries": [0, 60, 60]})
    await post(client, "g-1")
    (first,) = await fetched(client, path)
    await acked(client, path, first, status=500)
    clock.advance(90)
    (again,) = await fetched(client, path, lease_seconds=600)
    clock.advance(1)
    rotated = {"secret": "toll the bells", "secret_overlap": 86_400}
    assert (await client.patch(f"{path}/config", json=rotated)).status_code == 200
    await acked(client, path, again, status=200)
    await post(client, "g-2")
    (found,) = await fetched(client, path)
    signature = found["headers"]["X-Hub-Signature-256"]
    assert verify_hub(SECRET, b64decode(found["body"]), signature)


@pytest.mark.parametrize("propagate", ["always", "never"])
async def test_a_delivery_has_the_trace_of_its_event(
    client: httpx.AsyncClient, propagate: str
) -> None:
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    path = await made(client, delivery={"propagate": propagate})
    await post(client, traceparent=parent, tracestate="shop=1")
    (one,) = await fetched(client, path)
    found = [one["headers"].get(name) for name in ("traceparent", "tracestate")]
    assert found == ([parent, "shop=1"] if propagate == "always" else [None, None])


async def test_an_answer_is_an_attempt(client: httpx.AsyncClient, store: Store, path: str) -> None:
    await post(client)
    (one,) = await fetched(client, path)
    answer = {
        "status": 201,
        "duration": 0.25,
        "headers": {"Server": "local", "Set-Cookie": "a=1"},
        "body": f"said {SECRET}",
    }
    assert (await acked(client, path, one, **answer)).json() == {}
    assert (await acked(client, path, one, **answer)).status_code == 200, "the ack may be repeated"
    (attempt,) = recorded(store, path)
    assert (attempt["number"], attempt["status_code"], attempt["duration"]) == (1, 201, SECOND // 4)
    assert attempt["response_headers"] == {"Server": "local", "Set-Cookie": "********"}
    assert attempt["response_body"] == "said ********"
    assert attempt["request_headers"] == one["headers"]
    assert attempt["url"] == "pull:ci"
    assert states(store, path) == ["delivered"]
    assert_error(await nacked(client, path, one), 409)


async def test_a_failure_is_retried_by_the_schedule(
    client: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    path = await made(client, delivery={"retries": [0, 60]})
    await post(client)
    (one,) = await fetched(client, path)
    await acked(client, path, one, status=500)
    assert await fetched(client, path) == []
    # The delay of a minute varies by up to a fifth.
    clock.advance(72)
    (again,) = await fetched(client, path)
    assert (again["attempt"], again["redelivery"]) == (2, True)
    await acked(client, path, again, status=500)
    assert states(store, path) == ["dead"]
    assert [row["status_code"] for row in recorded(store, path)] == [500, 500]


async def test_a_lease_that_expires_is_a_failed_attempt(
    client: httpx.AsyncClient, store: Store, clock: MovableClock, path: str
) -> None:
    await post(client)
    (one,) = await fetched(client, path, lease_seconds=30)
    clock.advance(31)
    assert await fetched(client, path) == [], "the retry is not due yet"
    (attempt,) = recorded(store, path)
    assert attempt["error"].startswith("lease: ")
    for stale in (await acked(client, path, one), await nacked(client, path, one)):
        assert_error(stale, 409)
    assert_error(await client.post(f"{path}/extend", json={"leases": [one["lease_id"]]}), 409)
    clock.advance(60)
    (again,) = await fetched(client, path)
    assert again["attempt"] == 2
    assert (await acked(client, path, again)).status_code == 200
    assert states(store, path) == ["delivered"]


async def test_an_extended_lease_lasts(
    client: httpx.AsyncClient, clock: MovableClock, path: str
) -> None:
    await post(client)
    (one,) = await fetched(client, path, lease_seconds=30)
    clock.advance(20)
    wanted = {"leases": [one["lease_id"]], "lease_seconds": 60}
    answer = await client.post(f"{path}/extend", json=wanted)
    assert answer.json() == {"expires_at": "2026-11-21T07:34:20Z"}
    clock.advance(50)
    assert await fetched(client, path) == []
    assert (await acked(client, path, one)).status_code == 200


async def test_a_rejection_says_when_to_try_again(
    client: httpx.AsyncClient, store: Store, clock: MovableClock, path: str
) -> None:
    await post(client)
    (one,) = await fetched(client, path)
    assert (await nacked(client, path, one, reason="busy", delay=5)).status_code == 200
    assert (await nacked(client, path, one, reason="busy", delay=5)).status_code == 200
    assert_error(await acked(client, path, one), 409)
    clock.advance(5)
    (again,) = await fetched(client, path)
    await nacked(client, path, again, reason="nonsense", dead=True)
    assert [row["error"] for row in recorded(store, path)] == [
        "receiver: busy",
        "receiver: nonsense",
    ]
    assert states(store, path) == ["dead"]


async def test_a_stale_lease_spoils_the_whole_request(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    await post(client, "g-1")
    await post(client, "g-2")
    first, second = await fetched(client, path, batch=2)
    await nacked(client, path, first)
    answer = await acked(client, path, first, second)
    assert_error(answer, 409)
    assert str(first["lease_id"]) in answer.json()["message"]
    assert (await acked(client, path, second)).status_code == 200
    assert_error(await acked(client, path, {"lease_id": 999_999}), 409)


async def test_redelivery_reaches_the_receiver(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    await post(client)
    (one,) = await fetched(client, path)
    await acked(client, path, one)
    (attempt,) = recorded(store, path)
    again = await client.post(f"{path}/deliveries/{attempt['id']}/attempts")
    assert again.status_code == 202
    (second,) = await fetched(client, path)
    assert (second["guid"], second["redelivery"]) == ("g-1", True)


async def test_a_request_that_waits_is_woken(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    waiting = asyncio.create_task(fetched(client, path, consumer="patient", max_wait=60))
    await until(lambda: "patient" in names(store, path))
    await post(client)
    (one,) = await waiting
    assert one["guid"] == "g-1"


def names(store: Store, path: str) -> set[str]:
    return {row["name"] for row in store.read_sync(consumers.of_hook, hook_id(path))}


async def attached(client: httpx.AsyncClient, path: str) -> bool:
    return any(one["attached"] for one in (await client.get(f"{path}/consumers")).json())


async def test_a_request_waits_no_longer_than_it_says(client: httpx.AsyncClient, path: str) -> None:
    assert await fetched(client, path, max_wait=0.01) == []


async def test_consumers_are_listed(
    client: httpx.AsyncClient, clock: MovableClock, path: str
) -> None:
    await post(client)
    await fetched(client, path, consumer="laptop")
    clock.advance(10)
    await fetched(client, path, consumer="server-2")
    now, at_first = "2026-11-21T07:33:10Z", "2026-11-21T07:33:00Z"
    assert (await client.get(f"{path}/consumers")).json() == [
        {"name": "server-2", "since": now, "last_seen": now, "attached": True, "leases": 0},
        {
            "name": "anonymous",
            "since": at_first,
            "last_seen": at_first,
            "attached": True,
            "leases": 0,
        },
        {"name": "laptop", "since": at_first, "last_seen": at_first, "attached": True, "leases": 1},
    ]
    clock.advance(3 * 60)
    assert not await attached(client, path)


async def test_a_consumer_is_listed_for_a_day(
    client: httpx.AsyncClient, store: Store, clock: MovableClock, path: str
) -> None:
    await fetched(client, path, consumer="laptop")
    clock.advance(23 * 3600)
    await fetched(client, path, consumer="tower")
    clock.advance(3600)
    assert names(store, path) >= {"laptop", "tower"}
    clock.advance(1)
    assert names(store, path) == {"tower"}
    clock.advance(24 * 3600)
    assert names(store, path) == set()


async def test_the_latest_hundred_consumers_are_kept(
    client: httpx.AsyncClient, store: Store, clock: MovableClock, path: str
) -> None:
    for number in range(3 * consumers.MOST):
        if number % consumers.MOST == 0:
            clock.advance(consumers.AWAY / SECOND + 1)
        store.write_sync(consumers.touch, hook_id(path), f"c-{number}")
    assert names(store, path) == {f"c-{number}" for number in range(200, 300)}
    kept = "SELECT count(*) FROM pull_consumer"
    assert store.read_sync(lambda db: db.value(kept)) == consumers.MOST
    with pytest.raises(Conflict):
        store.write_sync(consumers.touch, hook_id(path), "one-more")


async def test_a_pause_holds_deliveries(client: httpx.AsyncClient, store: Store, path: str) -> None:
    hook = store.read_sync(hooks.by_id, hook_id(path))
    assert hook is not None
    paused = store.write_sync(hook_pauses.pause, hook)
    await post(client)
    assert await fetched(client, path) == []
    store.write_sync(hook_pauses.resume, paused)
    assert len(await fetched(client, path)) == 1


async def test_an_ordered_hook_gives_out_one_of_a_key(client: httpx.AsyncClient) -> None:
    path = await made(client, delivery={"ordering": "hook"})
    await post(client, "g-1")
    await post(client, "g-2")
    (first,) = await fetched(client, path, batch=10)
    assert first["headers"]["webhook-sequence"] == "1"
    assert await fetched(client, path, batch=10) == []
    await acked(client, path, first)
    (second,) = await fetched(client, path, batch=10)
    assert second["guid"] == "g-2"


async def test_a_format_and_a_filter_hold(client: httpx.AsyncClient) -> None:
    only_main = {"payload": {"ref": "refs/heads/main"}}
    path = await made(client, delivery={"format": "cloudevents_structured", "filter": only_main})
    await post(client, "g-1", b'{"ref": "refs/heads/other"}')
    await post(client, "g-2")
    (one,) = await fetched(client, path, batch=10)
    assert one["headers"]["Content-Type"].startswith("application/cloudevents+json")
    assert b'"specversion":"1.0"' in b64decode(one["body"])


async def test_secret_headers_reach_the_receiver_and_no_record(
    client: httpx.AsyncClient, store: Store
) -> None:
    given = {"Authorization": "Bearer of-bells", "X-Tower": "north"}
    path = await made(client, delivery={"headers": given})
    await post(client)
    (one,) = await fetched(client, path)
    assert {name: one["headers"][name] for name in given} == given
    await acked(client, path, one, body="Bearer of-bells")
    (attempt,) = recorded(store, path)
    assert attempt["request_headers"]["Authorization"] == "********"
    assert attempt["request_headers"]["X-Tower"] == "north"
    assert "of-bells" not in attempt["response_body"]


async def test_concurrency_limits_the_leases(client: httpx.AsyncClient) -> None:
    path = await made(client, delivery={"concurrency": 2})
    for number in range(3):
        await post(client, f"g-{number}")
    leased = await fetched(client, path, batch=10)
    assert [one["guid"] for one in leased] == ["g-0", "g-1"]
    await acked(client, path, leased[0])
    assert [one["guid"] for one in await fetched(client, path, batch=10)] == ["g-2"]


async def test_retry_after_holds_the_hook(
    client: httpx.AsyncClient, clock: MovableClock, path: str
) -> None:
    await post(client, "g-1")
    (one,) = await fetched(client, path)
    await acked(client, path, one, status=503, headers={"Retry-After": "120"})
    await post(client, "g-2")
    assert await fetched(client, path) == []
    clock.advance(121)
    assert len(await fetched(client, path, batch=2)) == 2


async def test_parameters_of_dequeue_and_ack_are_bounded(
    client: httpx.AsyncClient, path: str
) -> None:
    for wrong in (
        {"batch": 101},
        {"batch": 0},
        {"max_wait": 61},
        {"lease_seconds": 3601},
        {"consumer": "a b"},
        {"unknown": 1},
    ):
        assert_error(await client.post(f"{path}/dequeue", json=wrong), 422)
    too_long = {"leases": [{"lease_id": 1, "body": "x" * 65_537}]}
    assert_error(await client.post(f"{path}/ack", json=too_long), 422)
    assert_error(await client.post(f"{path}/ack", json={"leases": []}), 422)


async def test_only_a_pull_hook_can_be_asked(client: httpx.AsyncClient) -> None:
    body = {"config": {"url": "https://receiver.example/in"}}
    hook = (await client.post(HOOKS, json=body)).json()
    for name, given in (("dequeue", {}), ("extend", {"leases": [1]})):
        assert_error(await client.post(f"{HOOKS}/{hook['id']}/{name}", json=given), 422)


@pytest.mark.parametrize("name", ["", "A", "a b", "-a", "x" * 101])
async def test_a_wrong_name_is_refused(client: httpx.AsyncClient, name: str) -> None:
    assert_error(await client.post(HOOKS, json={"config": {"url": f"pull:{name}"}}), 422)


async def test_only_a_pull_hook_expires(client: httpx.AsyncClient) -> None:
    body = {"config": {"url": "https://receiver.example/"}, "delivery": {"expire_idle": 60}}
    assert_error(await client.post(HOOKS, json=body), 422)


async def test_the_rights_are_those_for_hooks(
    client: httpx.AsyncClient, store: Store, seed: Any, path: str
) -> None:
    reading, _ = store.write_sync(tokens.create, seed.octo["id"], scopes=["read:repo_hook"])
    headers = bearer(reading)
    assert (await client.get(f"{path}/consumers", headers=headers)).status_code == 200
    assert (await client.get(f"{path}/events", headers=headers)).status_code == 200
    assert_error(await client.post(f"{path}/dequeue", json={}, headers=headers), 403)


async def test_a_hook_of_an_organization_is_fetched_from(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    acme = store.write_sync(accounts.create, "acme", kind="Organization")
    store.write_sync(accounts.join, acme["id"], seed.octo["id"], "admin")
    value, _ = store.write_sync(tokens.create, seed.octo["id"], scopes=["admin:org_hook"])
    client.headers["Authorization"] = f"Bearer {value}"
    body = {"name": "web", "config": {"url": "pull:ci", "content_type": "json"}}
    hook = (await client.post("/orgs/acme/hooks", json=body)).json()
    path = f"/orgs/acme/hooks/{hook['id']}"
    (ping,) = await fetched(client, path)
    assert (await acked(client, path, ping)).status_code == 200
    assert [one["event"] for one in (await client.get(f"{path}/events")).json()] == ["ping"]


async def test_events_are_paged_from_the_oldest(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    for number in range(3):
        await post(client, f"g-{number}")
    (one,) = await fetched(client, path)
    await acked(client, path, one)
    first = await client.get(f"{path}/events", params={"per_page": 2})
    assert [row["event"] for row in first.json()] == ["ping", "push"]
    shown = first.json()[1]
    assert PAYLOAD in first.content
    assert (shown["guid"], shown["state"]) == ("g-0", "delivered")
    await post(client, "g-3")
    rest = await client.get(first.links["next"]["url"])
    assert [(row["guid"], row["state"]) for row in rest.json()] == [
        ("g-1", "waiting"),
        ("g-2", "waiting"),
    ]
    last = await client.get(rest.links["next"]["url"])
    assert [row["guid"] for row in last.json()] == ["g-3"]
    assert "next" not in last.links
    after = last.json()[0]["id"]
    assert (await client.get(f"{path}/events", params={"after": after})).json() == []


async def test_receivers_spend_no_hourly_limit(client: httpx.AsyncClient, path: str) -> None:
    before = int((await client.get(path)).headers["x-ratelimit-used"])
    for _ in range(3):
        await fetched(client, path)
    assert int((await client.get(path)).headers["x-ratelimit-used"]) == before + 1
