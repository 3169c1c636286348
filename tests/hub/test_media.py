"""Media types: none that a client of such an interface sends may be refused."""

import httpx
import pytest
from asserting import assert_error

from hub.errors import NotAcceptable, Unsupported
from hub.media import Media, wanted

HOOKS = "/repos/octo/hello/hooks"
TOLD = "X-Service-Media-Type"


@pytest.mark.parametrize(
    ("accept", "told"),
    [
        (None, "service.v3; format=json"),
        ("", "service.v3; format=json"),
        ("*/*", "service.v3; format=json"),
        ("application/json", "service.v3; format=json"),
        ("application/json; charset=utf-8", "service.v3; format=json"),
        ("application/vnd.service+json", "service.v3; format=json"),
        ("application/vnd.service.v3+json", "service.v3; format=json"),
        ("application/vnd.github+json", "service.v3; format=json"),
        ("application/vnd.github.v3+json", "service.v3; format=json"),
        ("application/vnd.github.v3", "service.v3; format=json"),
        ("application/vnd.github.beta+json", "service.beta; format=json"),
        ("application/vnd.github.antiope-preview+json", "service.v3; format=json"),
        ("application/vnd.github.v3.star+json, application/json", "service.v3; format=json"),
        ("text/html, application/xhtml+xml, */*;q=0.8", "service.v3; format=json"),
        ("APPLICATION/VND.SERVICE+JSON", "service.v3; format=json"),
        ("application/vnd.service.full+json, application/json", "service.v3; format=json"),
    ],
)
async def test_what_is_taken(client: httpx.AsyncClient, accept: str | None, told: str) -> None:
    if accept is not None:
        client.headers["Accept"] = accept
    answer = await client.get(HOOKS)
    assert (answer.status_code, answer.headers[TOLD]) == (200, told)
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("param", ["full", "raw", "html", "diff"])
async def test_a_form_that_the_resource_has_not(client: httpx.AsyncClient, param: str) -> None:
    for vendor in ("service", "github", "service-commitcomment"):
        accept = f"application/vnd.{vendor}.v3.{param}+json"
        answer = await client.get(HOOKS, headers={"Accept": accept})
        message = f"This resource does not support the '{param}' media type parameter."
        assert_error(answer, 406, message)


@pytest.mark.parametrize("accept", ["text/html", "image/png", "application/xml", "x"])
async def test_what_is_not_spoken(client: httpx.AsyncClient, accept: str) -> None:
    answer = await client.get(HOOKS, headers={"Accept": accept})
    message = f"Unsupported 'Accept' header: [\"{accept}\"]. Must accept 'application/json'."
    assert_error(answer, 415, message)


async def test_who_may_not_is_told_before_it(client: httpx.AsyncClient) -> None:
    client.headers["Accept"] = "text/html"
    assert_error(await client.get(HOOKS, headers={"Authorization": "token x"}), 401)


def test_a_form_that_the_resource_has() -> None:
    raw = "application/vnd.service.raw+json"
    assert wanted(raw, ("raw", "html")) == Media(param="raw")
    assert wanted(raw, ("raw",)).told == "service.v3; param=raw; format=json"
    assert wanted("application/vnd.github.v3.raw", ("raw",)).param == "raw"
    assert wanted("application/vnd.service-commitcomment.full+json", ("full",)).param == "full"
    with pytest.raises(NotAcceptable):
        wanted(raw, ("html",))
    assert wanted(f"{raw}, */*", ("html",)) == Media()
    assert wanted(f"text/plain, {raw}", ("raw",)).param == "raw"


def test_a_very_long_one() -> None:
    with pytest.raises(Unsupported) as caught:
        wanted("x" * 10_000, ())
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("kind", ["text/plain;charset=UTF-8", "application/json", "x", ""])
async def test_no_content_type_is_refused(client: httpx.AsyncClient, kind: str) -> None:
    client.headers["Content-Type"] = kind
    assert (await client.get(HOOKS)).status_code == 200
    body = b'{"config": {"url": "https://receiver.example/%s"}}' % kind.encode().hex().encode()
    assert (await client.post(HOOKS, content=body)).status_code == 201


async def test_a_hub_request_asks_for_the_form_of_deliveries(client: httpx.AsyncClient) -> None:
    data = {
        "hub.mode": "subscribe",
        "hub.topic": "/octo/hello/events/push",
        "hub.callback": "https://receiver.example/",
    }
    answer = await client.post("/hub", data=data, headers={"Accept": "text/html"})
    assert answer.status_code == 204
