"""Scripts of other origins: preflight requests, and the headers that scripts may read."""

import httpx
import pytest
from assertions import assert_error

HOOKS = "/repos/octo/hello/hooks"
TEAM = "/enterprises/globe/teams/ent:ringers"


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        (HOOKS, {"GET", "HEAD", "POST", "OPTIONS"}),
        (f"{HOOKS}/1", {"GET", "HEAD", "PATCH", "DELETE", "OPTIONS"}),
        ("/repositories/1/hooks/1/pings", {"POST", "OPTIONS"}),
        ("/rate_limit", {"GET", "HEAD", "OPTIONS"}),
        ("/", {"GET", "HEAD", "OPTIONS"}),
        (f"{TEAM}/organizations/add", {"GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS"}),
        (f"{TEAM}/organizations/other", {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"}),
    ],
)
async def test_a_preflight_request_is_answered(
    client: httpx.AsyncClient, path: str, methods: set[str]
) -> None:
    del client.headers["Authorization"]
    headers = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "GET"}
    answer = await client.options(path, headers=headers)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert set(answer.headers["Access-Control-Allow-Methods"].split(", ")) == methods
    taken = answer.headers["Access-Control-Allow-Headers"].split(", ")
    assert {"Authorization", "Content-Type", "X-Service-Api-Version"} <= set(taken)
    assert "ETag" in answer.headers["Access-Control-Expose-Headers"].split(", ")
    assert answer.headers["Access-Control-Max-Age"] == "86400"
    assert "Access-Control-Allow-Credentials" not in answer.headers


async def test_every_answer_may_be_seen(client: httpx.AsyncClient) -> None:
    for path in (HOOKS, f"{HOOKS}/9", "/nothing", "/rate_limit"):
        answer = await client.get(path, headers={"Origin": "https://elsewhere.example"})
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
        assert {"ETag", "Link", "X-RateLimit-Remaining", "X-OAuth-Scopes"} <= set(exposed)


async def test_scripts_see_that_a_path_is_not_served(client: httpx.AsyncClient) -> None:
    for path in ("/nothing", "/repos/octo/hello/contents/a%2Fb", "/graphql"):
        answer = await client.options(path, headers={"Access-Control-Request-Method": "PUT"})
        assert answer.status_code == 204
        assert {"GET", "PUT"} <= set(answer.headers["Access-Control-Allow-Methods"].split(", "))
        assert_error(await client.get(path), 404)


async def test_scripts_may_not_post_events(client: httpx.AsyncClient) -> None:
    for headers in ({}, {"Access-Control-Request-Method": "POST"}):
        assert (await client.options("/events", headers=headers)).status_code == 404
    answer = await client.post("/octo/hello/events/push", json={})
    assert "Access-Control-Allow-Origin" not in answer.headers
