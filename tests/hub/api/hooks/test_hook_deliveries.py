"""The deliveries of a hook: the list with its cursor and filters, the details, redelivery."""

import json
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, attempted, links, waiting
from statement_log import noted

from store import Connection, Store
from store.clock import MovableClock

HOOKS = "/repos/octo/hello/hooks"
TOPIC = "/octo/hello/events"


@pytest.fixture
async def path(client: httpx.AsyncClient) -> str:
    """The path of a hook that subscribes to all events."""
    body = {"config": {"url": "https://receiver.example/in"}, "events": ["*"]}
    hook = (await client.post(HOOKS, json=body)).json()
    return f"{HOOKS}/{hook['id']}"


def hook_id(path: str) -> int:
    return int(path.rpartition("/")[2])


async def listed(client: httpx.AsyncClient, path: str, **query: Any) -> list[dict[str, Any]]:
    answer = await client.get(f"{path}/deliveries", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


async def test_a_delivery_is_listed_in_short_and_shown_in_full(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    payload = b'{"action": "opened", "installation": {"id": 9}, "number": 123456789012345678901}'
    await client.post(f"{TOPIC}/issues", content=payload, headers={"X-GitHub-Delivery": "d-1"})
    attempted(store, hook_id(path))
    item = (await listed(client, path))[0]
    assert item == {
        "id": item["id"],
        "guid": "d-1",
        "delivered_at": "2026-11-21T07:33:00Z",
        "redelivery": False,
        "duration": 0.012,
        "status": "OK",
        "status_code": 200,
        "event": "issues",
        "action": "opened",
        "installation_id": 9,
        "repository_id": 1,
        "throttled_at": None,
    }
    answer = await client.get(f"{path}/deliveries/{item['id']}")
    assert payload in answer.content, "the response contains the payload byte for byte"
    whole = answer.json()
    assert {name: whole[name] for name in item} == item
    assert whole["url"] == "https://receiver.example/in"
    assert whole["request"] == {
        "headers": {"Content-Type": "application/json", "X-Hub-Signature": "***"},
        "payload": json.loads(payload),
    }
    assert whole["response"] == {
        "headers": {"Server": "test", "Content-Length": "2"},
        "payload": "ok",
    }
    assert whole["address"] == "192.0.2.7:443"
    assert whole["timings"] == {"connect": 0.002, "headers": 0.01}


async def test_a_deeply_nested_payload_is_shown(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    payload = b'{"a":' + b"[" * 900 + b"]" * 900 + b"}"
    assert (await client.post(f"{TOPIC}/push", content=payload)).status_code == 202
    attempted(store, hook_id(path))
    item = (await listed(client, path))[0]
    assert payload in (await client.get(f"{path}/deliveries/{item['id']}")).content


async def test_a_failure_in_words_and_a_payload_no_longer_kept(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    attempted(store, hook_id(path), status=None, error="connect: nobody listens")
    store.write_sync(lambda db: db.execute("UPDATE event SET body = NULL"))
    item = (await listed(client, path))[0]
    assert (item["status"], item["status_code"]) == ("connect: nobody listens", 0)
    whole = (await client.get(f"{path}/deliveries/{item['id']}")).json()
    assert whole["request"]["payload"] is None
    assert whole["response"] == {"headers": None, "payload": None}
    again = await client.post(f"{path}/deliveries/{item['id']}/attempts")
    assert_error(again, 422, "Validation Failed", code="unprocessable")


async def test_a_redelivery_has_the_same_guid(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    attempted(store, hook_id(path), status=500)
    (item,) = await listed(client, path)
    answer = await client.post(f"{path}/deliveries/{item['id']}/attempts")
    assert (answer.status_code, answer.json()) == (202, {})
    attempted(store, hook_id(path))
    again, first = await listed(client, path)
    assert again["guid"] == first["guid"]
    assert (again["redelivery"], first["redelivery"]) == (True, False)


async def test_the_cursor_goes_forth_and_back(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    for number in range(6):
        await client.post(f"{TOPIC}/push", json={"number": number})
    attempted(store, hook_id(path))
    everything = [item["id"] for item in await listed(client, path)]
    assert everything == sorted(everything, reverse=True)
    url: str | None = f"{BASE}{path}/deliveries?per_page=3&status=success"
    seen, pages = [], []
    while url is not None:
        answer = await client.get(url)
        seen += [item["id"] for item in answer.json()]
        pages.append((url, answer))
        url = links(answer).get("next")
    assert seen == everything
    assert [len(answer.json()) for _, answer in pages] == [3, 3, 1]
    assert [links(answer).keys() for _, answer in pages] == [{"next"}, {"prev", "next"}, {"prev"}]
    assert "status=success" in links(pages[0][1])["next"]
    second = await client.get(links(pages[2][1])["prev"])
    assert second.json() == pages[1][1].json()
    first = await client.get(links(second)["prev"])
    assert first.json() == pages[0][1].json()
    assert links(first).keys() == {"next"}


async def test_the_cursor_stays_where_it_was_while_more_comes(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    await client.post(f"{TOPIC}/push", json={})
    attempted(store, hook_id(path))
    answer = await client.get(f"{path}/deliveries", params={"per_page": 1})
    await client.post(f"{TOPIC}/push", json={})
    attempted(store, hook_id(path))
    older = await client.get(links(answer)["next"])
    assert [item["event"] for item in older.json()] == ["ping"]


MADE_UP = "before_1", "YmVmb3JlXzE", "YmVmb3JlXzE." + 64 * "0"


@pytest.mark.parametrize("cursor", ["", "x", ".", "before_", "before_-1", "é", *MADE_UP])
async def test_a_wrong_cursor_is_refused(client: httpx.AsyncClient, path: str, cursor: str) -> None:
    answer = await client.get(f"{path}/deliveries", params={"cursor": cursor})
    content = assert_error(answer, 400)
    assert content["message"].startswith("Invalid cursor")


async def test_an_altered_cursor_is_refused(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    for number in range(2):
        await client.post(f"{TOPIC}/push", json={"number": number})
    attempted(store, hook_id(path))
    answer = await client.get(f"{path}/deliveries", params={"per_page": 1})
    cursor = str(httpx.URL(links(answer)["next"]).params["cursor"])
    assert (await client.get(f"{path}/deliveries", params={"cursor": cursor})).status_code == 200
    for at in (0, cursor.index(".") - 1, -1):
        other = "0" if cursor[at] != "0" else "1"
        altered = cursor[:at] + other + (cursor[at:][1:])
        assert_error(await client.get(f"{path}/deliveries", params={"cursor": altered}), 400)


async def test_the_filters(
    client: httpx.AsyncClient, store: Store, clock: MovableClock, path: str
) -> None:
    attempted(store, hook_id(path), status=500)
    clock.advance(3600)
    await client.post(f"{TOPIC}/push", json={})
    await client.post(f"{TOPIC}/fork", json={}, headers={"X-Service-Delivery": "wanted"})
    attempted(store, hook_id(path))

    async def names(**query: str) -> list[str]:
        return [item["event"] for item in await listed(client, path, **query)]

    assert await names(status="failure") == ["ping"]
    assert await names(status="success") == ["fork", "push"]
    assert await names(event="push") == ["push"]
    assert await names(event="nothing") == []
    assert await names(guid="wanted") == ["fork"]
    assert await names(since="2026-11-21T08:00:00Z") == ["fork", "push"]
    assert await names(since="2026-11-21T08:00:00Z", event="ping") == []
    assert await names(unknown="1") == ["fork", "push", "ping"]


@pytest.mark.parametrize(
    "query", [{"status": "maybe"}, {"since": "yesterday"}, {"guid": "x" * 129}, {"event": "\0"}]
)
async def test_wrong_filters_are_refused(
    client: httpx.AsyncClient, path: str, query: dict[str, str]
) -> None:
    content = assert_error(await client.get(f"{path}/deliveries", params=query), 422)
    assert content["message"].startswith("Invalid request.\n\nFor '")


@pytest.mark.parametrize("number", ["999", "x", "1" * 30, "-1", "%D9%A1"])
async def test_an_unknown_delivery_is_not_found(
    client: httpx.AsyncClient, path: str, number: str
) -> None:
    assert_error(await client.get(f"{path}/deliveries/{number}"), 404, "Not Found")
    assert_error(await client.post(f"{path}/deliveries/{number}/attempts"), 404, "Not Found")


async def test_another_hook_s_delivery_is_not_there(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    attempted(store, hook_id(path))
    (item,) = await listed(client, path)
    body = {"config": {"url": "https://other.example/"}}
    other = (await client.post(HOOKS, json=body)).json()
    answer = await client.get(f"{HOOKS}/{other['id']}/deliveries/{item['id']}")
    assert_error(answer, 404, "Not Found")


async def test_a_page_costs_as_many_queries_as_an_empty_one(
    client: httpx.AsyncClient, store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, Any]] = []

    read_of = store.read_of

    async def counted(kind: str, function: Any, *args: Any) -> Any:
        def noting(db: Connection) -> Any:
            with noted(db) as ran:
                found = function(db, *args)
            asked.extend(ran)
            return found

        return await read_of(kind, noting)

    async def cost(url: str) -> int:
        asked.clear()
        assert (await client.get(url)).status_code == 200
        return len(asked)

    monkeypatch.setattr(store, "read_of", counted)
    few = await cost(f"{path}/deliveries"), await cost(HOOKS)
    for number in range(5):
        await client.post(HOOKS, json={"config": {"url": f"https://e.example/{number}"}})
        await client.post(f"{TOPIC}/push", json={"number": number})
    attempted(store, hook_id(path))
    assert 0 < few[0] < 12
    assert (await cost(f"{path}/deliveries"), await cost(HOOKS)) == few


async def test_waiting_deliveries_are_not_listed(
    client: httpx.AsyncClient, store: Store, path: str
) -> None:
    assert len(waiting(store, hook_id(path))) == 1
    assert await listed(client, path) == []
