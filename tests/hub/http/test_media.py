"""Media types in `Accept`: the hub accepts each one that clients of the platform's API send."""

import httpx
import pytest
from assertions import assert_error

from hub.http.accept import Accept
from hub.http.errors import NotAcceptable, Unsupported
from hub.http.media import Media, negotiate

HOOKS, LICENSE = "/repos/octo/hello/hooks", "/repos/octo/hello/license"
MEDIA_TYPE_HEADER = "X-Service-Media-Type"


@pytest.mark.parametrize(
    ("accept", "reported"),
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
        ("application/json, application/vnd.github.full+json", "service.v3; format=json"),
        ("application/vnd.github.v3.full+json", "service.v3; param=full; format=json"),
        ("application/vnd.github.v3.raw+json", "service.v3; param=raw; format=json"),
        ("text/html;q=1, application/json;q=0.001", "service.v3; format=json"),
        ("application/vnd.github.beta+json;q=0.2, application/json", "service.v3; format=json"),
        ("application/json;q=0.2, application/vnd.github.beta+json", "service.beta; format=json"),
    ],
)
async def test_accepted_media_types_are_reported(
    client: httpx.AsyncClient, accept: str | None, reported: str
) -> None:
    if accept is not None:
        client.headers["Accept"] = accept
    answer = await client.get(HOOKS)
    assert (answer.status_code, answer.headers[MEDIA_TYPE_HEADER]) == (200, reported)
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize(
    ("path", "param"),
    [(LICENSE, "full"), (HOOKS, "full"), (HOOKS, "raw"), (HOOKS, "html"), (HOOKS, "diff")],
)
async def test_an_unsupported_form_is_refused(
    client: httpx.AsyncClient, path: str, param: str
) -> None:
    vendors = ["service", "service-commitcomment"]
    for vendor in [*vendors, "github"] if param not in ("full", "raw") else vendors:
        accept = f"application/vnd.{vendor}.v3.{param}+json"
        answer = await client.get(path, headers={"Accept": accept})
        message = f"This resource does not support the '{param}' media type parameter."
        assert_error(answer, 406, message)


@pytest.mark.parametrize(
    "accept",
    [
        *("text/html", "image/png", "application/xml", "x", "text/*"),
        *("application/json;q=0", "application/vnd.github+json; q=0.0", "*/*;q=0"),
    ],
)
async def test_other_media_types_are_refused(client: httpx.AsyncClient, accept: str) -> None:
    answer = await client.get(HOOKS, headers={"Accept": accept})
    message = f"Unsupported 'Accept' header: [\"{accept}\"]. Must accept 'application/json'."
    assert_error(answer, 415, message)


@pytest.mark.parametrize("accept", ["application/vnd.github.v3.raw", "text/plain", "image/png"])
async def test_a_path_that_is_not_served_is_missing_in_every_form(
    client: httpx.AsyncClient, accept: str
) -> None:
    for path in ("/nope", "/repos/octo/hello/contents/README.md"):
        answer = await client.get(path, headers={"Accept": accept})
        assert answer.status_code == 404, answer.text


async def test_a_list_with_another_form_is_complete_without_texts(
    client: httpx.AsyncClient,
) -> None:
    accept = {"Accept": "application/vnd.github.v3.full+json"}
    answer = await client.get("/repos/octo/hello/stargazers", headers=accept)
    assert (answer.status_code, answer.json()) == (200, [])
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"


async def test_missing_rights_are_reported_before_media_types(client: httpx.AsyncClient) -> None:
    client.headers["Accept"] = "text/html"
    assert_error(await client.get(HOOKS, headers={"Authorization": "token x"}), 401)


def test_a_supported_form_is_accepted() -> None:
    raw = "application/vnd.service.raw+json"
    assert negotiate(raw, ("raw", "html")) == Media(param="raw")
    assert negotiate(raw, ("raw",)).header_value == "service.v3; param=raw; format=json"
    assert negotiate("application/vnd.github.v3.raw", ("raw",)).param == "raw"
    assert negotiate("application/vnd.service-commitcomment.full+json", ("full",)).param == "full"
    with pytest.raises(NotAcceptable):
        negotiate(raw, ("html",))
    assert negotiate(f"{raw}, */*", ("html",)) == Media()
    assert negotiate(f"text/plain, {raw}", ("raw",)).param == "raw"


RAW, HTML = "application/vnd.service.raw+json", "application/vnd.service.html+json"


@pytest.mark.parametrize(
    ("accept", "param"),
    [
        (f"{RAW};q=0.5, {HTML};q=0.8", "html"),
        (f"{RAW};q=0.8, {HTML};q=0.5", "raw"),
        (f"{RAW}, {HTML}", "raw"),
        (f"{HTML}, {RAW}", "html"),
        (f"application/json;q=0.4, {RAW};q=0.5", "raw"),
        (f"*/*;q=0.1, {RAW};q=0.05", None),
        (f"*/*, application/json;q=0.1, {RAW};q=0.5", "raw"),
        (f"application/*;q=0.1, */*, {RAW};q=0.5", "raw"),
        (f"{RAW};q=0, */*", None),
        (f"{RAW};Q=0 , {HTML} ; q=0.7", "html"),
        (f"application/json;q=0, */*, {RAW};q=0.1", "raw"),
        (f'application/json;note="a,b;q=1";q=0.1, {RAW};q=0.2', "raw"),
        (f"{RAW};q=high, {HTML};q=0.1", "html"),
        (f"{RAW};q=nan, {HTML};q=1e9, */*;q=0.1", None),
        (f"{RAW};q=0.5, {HTML};q=7", "html"),
        (f", ,{RAW}", "raw"),
        (" , ", None),
    ],
)
def test_the_heaviest_media_type_wins(accept: str, param: str | None) -> None:
    assert negotiate(accept, ("raw", "html")) == Media(param=param)


@pytest.mark.parametrize("accept", ["application/json;q=0, */*", "*/*, application/json;q=0"])
def test_a_wildcard_does_not_cover_an_excluded_type(accept: str) -> None:
    with pytest.raises(Unsupported):
        negotiate(accept, ())


@pytest.mark.parametrize(
    "parts", ["1", ".1", "1.", " ", "=", "q=1", ";q=1", '"', '\\"', ",", 'a;"', '";q=']
)
def test_a_long_header_takes_no_time_that_grows_with_its_square(parts: str) -> None:
    """With such a time, this would take minutes."""
    for begin in ("a/b;q=", ""):
        assert Accept(f"{begin}{parts * 200_000}x, text/html").quality("text/css") is not None


async def test_lines_of_a_header_are_one(client: httpx.AsyncClient) -> None:
    lines = [("Accept", "application/vnd.github.beta+json"), ("Accept", "text/html")]
    answer = await client.get(HOOKS, headers=lines)
    assert answer.headers[MEDIA_TYPE_HEADER] == "service.beta; format=json"


def test_a_long_media_type_has_a_short_error() -> None:
    with pytest.raises(Unsupported) as caught:
        negotiate("x" * 10_000, ())
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
