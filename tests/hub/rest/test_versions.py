"""Versions of the API: the version of a request, and the operations and members in it."""

from typing import Annotated, Any, NotRequired

import httpx
import pytest
from assertions import BASE, assert_error
from typing_extensions import TypedDict

from hub.auth.access import public
from hub.rest import pipeline
from hub.rest.context import Context, Services
from hub.rest.group import OperationGroup
from hub.rest.operation import Deprecation
from hub.rest.versions import DEFAULT, NEWEST, OLDEST, SinceVersion, UntilVersion, cuts, trim
from hub.settings import HubSettings

HEADER = "X-Service-Api-Version"
SELECTED = "X-Service-Api-Version-Selected"
HOOKS = "/repos/octo/hello/hooks"


@pytest.mark.parametrize("header", [HEADER, "X-GitHub-Api-Version", "x-service-api-version"])
@pytest.mark.parametrize("version", [NEWEST, OLDEST])
async def test_answers_name_the_chosen_version(
    client: httpx.AsyncClient, header: str, version: str
) -> None:
    for path in (HOOKS, f"{HOOKS}/9", "/nothing"):
        answer = await client.get(path, headers={header: version})
        assert answer.headers[SELECTED] == version
    answer = await client.post("/hub", headers={header: version})
    assert answer.headers[SELECTED] == version


async def test_requests_without_a_version_get_the_older_one(client: httpx.AsyncClient) -> None:
    answer = await client.get("/rate_limit")
    assert answer.headers[SELECTED] == DEFAULT == OLDEST
    assert "rate" in answer.json()


@pytest.mark.parametrize("version", ["v3", "2024-01-01", ""])
async def test_an_unknown_version_is_refused(client: httpx.AsyncClient, version: str) -> None:
    for method, path in (("GET", HOOKS), ("POST", HOOKS), ("GET", "/nothing"), ("POST", "/hub")):
        answer = await client.request(method, path, headers={"X-GitHub-Api-Version": version})
        content = assert_error(answer, 400)
        assert content["message"] == (
            'The version you specified in the "X-GitHub-Api-Version" request header,'
            f' "{version}", is not a supported version. The following versions are currently'
            ' supported: "2026-03-10" (most recent), "2022-11-28".'
        )
        assert SELECTED not in answer.headers


async def test_an_unknown_version_is_reported_before_missing_credentials(
    client: httpx.AsyncClient,
) -> None:
    del client.headers["Authorization"]
    assert_error(await client.get(HOOKS, headers={HEADER: "v3"}), 400)


async def test_the_versions(client: httpx.AsyncClient) -> None:
    assert (await client.get("/versions")).json() == ["2026-03-10", "2022-11-28"]


class Part(TypedDict):
    new: Annotated[int, SinceVersion(NEWEST)]
    kept: int
    parent: "Part | None"


class Whole(TypedDict):
    old: NotRequired[Annotated[str, UntilVersion(NEWEST)]]
    parts: list[Part]
    one: Annotated[Part | None, "whatever"]
    free: dict[str, int]


def test_members_of_a_version() -> None:
    found = cuts(list[Whole])
    part: Any = {"new": 1, "kept": 2, "parent": None}
    content = [{"old": "x", "parts": [part], "one": None, "free": {"old": 1}}]
    (newest,) = trim(content, found[NEWEST])
    assert newest == {"parts": [part], "one": None, "free": {"old": 1}}
    (oldest,) = trim(content, found[OLDEST])
    assert oldest["parts"] == [{"kept": 2, "parent": None}]
    assert oldest["old"] == "x"
    assert cuts(dict[str, int]) == cuts(None) == cuts(Any) == {}


ops = OperationGroup("things")


@ops("GET /things/new", public(), since=NEWEST)
def get_new(ctx: Context) -> list[str]:
    """Get a new thing"""
    return [ctx.version]


@ops("GET /things/old", public(), until=NEWEST)
def get_old(ctx: Context) -> list[str]:
    """Get an old thing"""
    return [ctx.version]


@ops(
    "GET /things/going",
    public(),
    deprecated=Deprecation("2026-03-10", sunset="2028-03-10", successor="GET /things/new"),
)
def get_going(ctx: Context) -> list[str]:
    """Get a deprecated thing"""
    return []


@pytest.fixture
async def things(store: Any) -> Any:
    """A function that calls one of the operations above, by its number."""

    async def judge(url: str) -> None: ...

    harness = Services(store, HubSettings(base_url=BASE), judge)

    async def ask(number: int, **headers: str) -> httpx.Response:
        run = pipeline.operation_endpoint(harness, ops.operations[number])

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await run(scope, receive, send, {})

        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE) as client:
            return await client.get("/", headers=headers)

    return ask


async def test_operations_of_a_version(things: Any) -> None:
    newest, oldest = {HEADER: NEWEST}, {HEADER: OLDEST}
    assert (await things(0, **newest)).json() == [NEWEST]
    assert (await things(1, **oldest)).json() == [OLDEST]
    for number, version in ((0, oldest), (0, {}), (1, newest)):
        missing = await things(number, **version)
        # `assert_error` would fail, because the manual has no heading for these operations.
        assert (missing.status_code, missing.json()["message"]) == (404, "Not Found")


async def test_a_deprecated_operation_has_headers_for_that(things: Any) -> None:
    answer = await things(2)
    assert answer.headers["Deprecation"] == "Tue, 10 Mar 2026 00:00:00 GMT"
    assert answer.headers["Sunset"] == "Fri, 10 Mar 2028 00:00:00 GMT"
    links = answer.links
    assert links["deprecation"]["url"] == f"{BASE}/docs/reference/operations#things-get-going"
    assert links["deprecation"]["type"] == "text/html"
    assert links["alternate"]["url"] == f"{BASE}/things/new"
    refused = await things(2, Authorization="token x")
    assert refused.status_code == 401
    assert "Deprecation" in refused.headers
    assert "deprecation" in refused.links


async def test_one_link_header_for_pages_and_deprecation(client: httpx.AsyncClient) -> None:
    answer = await client.get("/user/subscriptions")
    assert "Deprecation" in answer.headers
    assert len(answer.headers.get_list("Link")) == 1
