"""Conditional requests, and headers for caches."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error

from hub.auth.access import public
from hub.http.conditional import apply_conditions, settled
from hub.http.response import Response
from hub.rest import pipeline
from hub.rest.context import Context, Services
from hub.rest.group import OperationGroup
from hub.settings import HubSettings
from store.clock import SECOND, parse

HOOKS = "/repos/octo/hello/hooks"
BODY = {"config": {"url": "https://receiver.example/in"}}
CHANGED = parse("2026-11-20T10:00:00.5Z")
DATE = "Fri, 20 Nov 2026 10:00:00 GMT"


async def test_the_same_is_not_sent_again(client: httpx.AsyncClient) -> None:
    await client.post(HOOKS, json=BODY)
    first = await client.get(HOOKS)
    tag = first.headers["ETag"]
    assert tag.startswith('W/"')
    assert len(tag) == 64 + 4
    again = await client.get(HOOKS, headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["ETag"] == tag.removeprefix("W/")
    assert "Content-Type" not in again.headers
    assert "Content-Length" not in again.headers
    for name in ("Vary", "Cache-Control", "X-OAuth-Scopes", "X-Service-Api-Version-Selected"):
        assert again.headers[name] == first.headers[name]
    await client.patch(f"{HOOKS}/1", json={"active": False})
    changed = await client.get(HOOKS, headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["ETag"] != tag


@pytest.mark.parametrize("form", ["{}", '"x", {}', '{},W/"x"', "*"])
async def test_tags_are_compared_weakly(client: httpx.AsyncClient, form: str) -> None:
    tag = (await client.get(HOOKS)).headers["ETag"]
    for spelled in (tag, tag.removeprefix("W/")):
        for method in ("GET", "HEAD"):
            header = {"If-None-Match": form.format(spelled)}
            assert (await client.request(method, HOOKS, headers=header)).status_code == 304


@pytest.mark.parametrize("given", ["", '"x"', "x", '""', "W/"])
async def test_other_etags_do_not_match(client: httpx.AsyncClient, given: str) -> None:
    assert (await client.get(HOOKS, headers={"If-None-Match": given})).status_code == 200


async def test_an_unchanged_answer_costs_no_rate_limit(client: httpx.AsyncClient) -> None:
    tag = (await client.get(HOOKS)).headers["ETag"]
    for _ in range(3):
        answer = await client.get(HOOKS, headers={"If-None-Match": tag})
        assert answer.headers["X-RateLimit-Used"] == "1"
    assert (await client.get(HOOKS)).headers["X-RateLimit-Used"] == "2"


async def test_the_validator_of_a_page_covers_its_links(client: httpx.AsyncClient) -> None:
    for number in range(3):
        config = {"url": f"https://receiver.example/{number}"}
        await client.post(HOOKS, json={"config": config})
    first = await client.get(HOOKS, params={"per_page": 2})
    await client.delete(f"{HOOKS}/3")
    header = {"If-None-Match": first.headers["ETag"]}
    second = await client.get(HOOKS, params={"per_page": 2}, headers=header)
    assert second.json() == first.json()
    assert second.status_code == 200
    assert "Link" not in second.headers


async def test_a_refusal_comes_before_an_unchanged_answer(
    client: httpx.AsyncClient, seed: Any
) -> None:
    tag = (await client.get(HOOKS)).headers["ETag"]
    header = {"Authorization": f"token {seed.reader_token}", "If-None-Match": tag}
    assert_error(await client.get(HOOKS, headers=header), 403)
    assert_error(await client.get(HOOKS, headers=header | {"Authorization": "token x"}), 401)


async def test_errors_and_writes_have_no_validator(client: httpx.AsyncClient) -> None:
    for answer in (
        await client.get(f"{HOOKS}/9"),
        await client.post(HOOKS, json=BODY),
        await client.delete(f"{HOOKS}/1"),
        await client.get("/rate_limit"),
    ):
        assert "ETag" not in answer.headers


async def test_cache_headers_depend_on_authentication(client: httpx.AsyncClient) -> None:
    answer = await client.get("/versions")
    assert answer.headers["Cache-Control"] == "private, max-age=60, s-maxage=60"
    for name in ("Accept", "Authorization", "X-Service-OTP", "X-Service-Api-Version"):
        assert name in answer.headers["Vary"].split(", ")
    del client.headers["Authorization"]
    answer = await client.get("/versions")
    assert answer.headers["Cache-Control"] == "public, max-age=60, s-maxage=60"
    assert "Cache-Control" not in (await client.get("/nothing")).headers


ops = OperationGroup("things")


@ops("GET /thing", public())
def get_thing(ctx: Context) -> list[str]:
    """Get a thing with a modification time"""
    ctx.last_modified = CHANGED
    return []


@pytest.mark.parametrize(
    ("since", "status"),
    [
        (DATE, 304),
        ("Fri, 20 Nov 2026 10:00:01 GMT", 304),
        ("Fri, 20 Nov 2026 09:59:59 GMT", 200),
        ("Fri, 20 Nov 2026 10:00:00 -0000", 304),
        ("yesterday", 200),
        ("", 200),
        ("Fri, 99 Nov 2026 10:00:00 GMT", 200),
        (f"Fri, 20 Nov {'9' * 20} 10:00:00 GMT", 200),
        (f"Fri, 20 Nov 2026 10:00:00 +{'9' * 20}", 200),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 200),
    ],
)
async def test_if_modified_since_is_compared(store: Any, since: str, status: int) -> None:
    async def judge(url: str) -> None: ...

    harness = Services(store, HubSettings(base_url=BASE), judge)
    run = pipeline.operation_endpoint(harness, ops.operations[0])

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await run(scope, receive, send, {})

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE) as client:
        answer = await client.get("/", headers={"If-Modified-Since": since})
        assert answer.status_code == status
        assert answer.headers["Last-Modified"] == DATE
        # `If-None-Match` takes precedence over `If-Modified-Since`.
        header = {"If-Modified-Since": DATE, "If-None-Match": '"x"'}
        assert (await client.get("/", headers=header)).status_code == 200


def test_if_modified_since_needs_a_known_time() -> None:
    answer = Response(200, b"[]")
    since = {b"if-modified-since": DATE.encode()}
    assert not apply_conditions(answer, since, None)
    assert apply_conditions(answer, since, settled(CHANGED, CHANGED + 61 * SECOND))


@pytest.mark.parametrize(
    ("now", "status"),
    [
        ("2026-11-20T10:00:00.5Z", 200),
        ("2026-11-20T10:00:00.999999Z", 200),
        # A transaction that began in the second may still be open.
        ("2026-11-20T10:00:01Z", 200),
        ("2026-11-20T10:01:00.999999Z", 200),
        ("2026-11-20T10:01:01Z", 304),
        # The clock was put back.
        ("2026-11-20T09:59:59Z", 200),
    ],
)
def test_a_second_that_may_get_another_change_is_no_validator(now: str, status: int) -> None:
    answer = Response(200, b"[]")
    apply_conditions(answer, {b"if-modified-since": DATE.encode()}, settled(CHANGED, parse(now)))
    assert answer.status == status
    assert (b"last-modified" in dict(answer.headers)) == (status == 304)
    tag = dict(answer.headers)[b"etag"]
    again = Response(200, b"[]")
    assert apply_conditions(again, {b"if-none-match": tag}, settled(CHANGED, parse(now)))
