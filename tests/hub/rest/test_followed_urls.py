"""Each URL of the API in a response is served, or the manual lists its path as not served."""

import json
import re
from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from assertions import BASE
from contract_checks import lines, own
from hub_client import open_client
from operations_world import PASSWORD, SECRET, Headers, World, basic, make, path

from hub.openapi.not_served import FAMILIES, PAGE, family_of
from hub.operations import OPERATIONS
from hub.rate_limit_settings import RATE_LIMITS
from hub.settings import HubSettings
from store import open_store
from store.accounts import tokens

UNLIMITED = dict.fromkeys(RATE_LIMITS, 10_000_000)
EXPRESSION = re.compile(r"\{([/?&+]?)([^}]*)\}")
# `crawl` records one of these for a 404 response that no operation has sent.
DEAD_END, NOT_SERVED = 0, 1
BY_ID = re.compile(r"^/repositories/[^/]+")
# The values with which the test expands URL templates.
KNOWN = {
    "owner": "octo",
    "repo": "hello",
    "org": "acme",
    "user": "octo",
    "username": "octo",
    "query": "bells",
    "repository_id": "1",
    "client_id": "lab-client",
    "archive_format": "tarball",
    "ref": "main",
    "base": "main",
    "head": "main",
    "path": "README.md",
    "sha": "6dcb09b5b57875f334f61aebed695e2e4193db5e",
    "branch": "main",
    "member": "bella",
    "collaborator": "octo",
    "name": "bug",
    "assignee": "octo",
    "other_user": "reader",
}
# Paths that may have no row for any caller, and the reason.
EMPTY = {
    "/repos/{owner}/{repo}/subscription": "a user need not watch the repository",
    "/repos/{owner}/{repo}/actions/concurrency_groups/{concurrency_group_name}": "it may be idle",
    "/repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}": (
        "only the latest attempt is kept"
    ),
    "/repos/{owner}/{repo}/import": "most repositories were never imported",
    "/repos/{owner}/{repo}/labels/{name}": "not every repository has the label in KNOWN",
    "/repos/{owner}/{repo}/branches/{branch}": "nothing was pushed to most repositories",
    "/repos/{owner}/{repo}/collaborators/{username}": "the login comes from KNOWN",
    "/repos/{owner}/{repo}/assignees/{username}": "the login comes from KNOWN",
    "/repos/{owner}/{repo}/git/refs/{ref}": "the SHA comes from KNOWN",
    "/repos/{owner}/{repo}/commits/{ref}": "the ref comes from KNOWN",
    "/repos/{owner}/{repo}/commits/{ref}/check-runs": "the ref comes from KNOWN",
    "/orgs/{org}/members/{username}": "the login comes from KNOWN",
    "/orgs/{org}/teams/{team_slug}/members/{username}": "the login comes from KNOWN",
    "/enterprises/{enterprise}/teams/{enterprise-team}/memberships/{username}": "the same",
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    store = open_store("sqlite", data_dir=tmp_path)
    made = make(store)
    yield made
    made.close()
    store.shut()


@pytest.fixture
async def client(world: World) -> AsyncIterator[httpx.AsyncClient]:
    names = ("points_per_minute", "failed_tokens", "failed_logins", "failed_logins_address")
    limits: dict[str, Any] = dict.fromkeys(names, 10_000_000)
    settings = HubSettings(
        base_url=BASE, rate_limits=UNLIMITED, rate_limits_anonymous=UNLIMITED, **limits
    )
    async with open_client(world.store, settings) as opened:
        yield opened


def callers(world: World) -> dict[str, Headers]:
    """The headers of each kind of caller, by name."""
    everything = sorted(tokens.SCOPES)
    metadata = {"permissions": {"metadata": "read"}}
    return {
        "nobody": {},
        "octo": world.token(scopes=everything),
        "octo without scopes": world.token(),
        "octo with a fine-grained token": world.token(kind="fine_grained", **metadata),
        "octo through an app": world.token(kind="app_user", **metadata),
        "an installation": world.token(kind="installation", **metadata),
        "reader": world.token(world.reader.account, scopes=everything),
        "octo with a password": basic("octo", PASSWORD),
        "an app": basic("lab-client", SECRET),
        "an app itself": world.signed(),
        "an installation of an app": world.installed(),
    }


def urls_in(content: Any) -> Iterator[str]:
    """Each URL of the API in the content of a response."""
    if isinstance(content, dict):
        for value in content.values():
            yield from urls_in(value)
    elif isinstance(content, list):
        for value in content:
            yield from urls_in(value)
    elif isinstance(content, str) and (content + "/").startswith(f"{BASE}/"):
        yield content


def expanded(template: str) -> Iterator[str]:
    """The URLs of a template: without its optional segments, and with the values in KNOWN."""
    for whole in (False, True):

        def value(found: re.Match[str], whole: bool = whole) -> str:
            kind, name = found[1], found[2]
            if kind in ("?", "&"):
                return ""
            if kind == "/":
                return f"/{KNOWN[name]}" if whole and name in KNOWN else ""
            return KNOWN[name]

        yield EXPRESSION.sub(value, template)


def found_in(answer: httpx.Response) -> Iterator[str]:
    """The URLs in the content and in the headers of an answer."""
    if "json" in answer.headers.get("Content-Type", "") and answer.is_success:
        for url in urls_in(json.loads(answer.content)):
            yield from expanded(url)
    for link in answer.links.values():
        yield from expanded(link["url"])
    if "Location" in answer.headers:
        yield answer.headers["Location"]


def url_path(url: str) -> str:
    """The path below the API's root. A repository's id becomes the name octo/hello."""
    return BY_ID.sub("/repos/octo/hello", url.removeprefix(BASE).partition("?")[0] or "/")


def template_of(url: str) -> str | None:
    """The path of the operation that serves a URL with any method. None if there is none."""
    found = (
        own().line(method, url_path(url)) for method in ("GET", "PUT", "POST", "PATCH", "DELETE")
    )
    return next((line[0] for line in found if line is not None), None)


async def crawl(client: httpx.AsyncClient, headers: Headers, start: list[str]) -> dict[str, int]:
    """Follow every URL; return the status of each."""
    statuses: dict[str, int] = {}
    left = deque(start)
    while left:
        url = left.popleft()
        # The manual is no operation, and the reports in the world have no files.
        if url in statuses or url.startswith((f"{BASE}/docs", f"{BASE}/reports")):
            continue
        answer = await client.get(url, headers=headers)
        statuses[url] = answer.status_code
        assert answer.status_code < 500, f"{url}: {answer.text}"
        if answer.status_code == 404:
            known = 404 if template_of(url) is not None else DEAD_END
            statuses[url] = NOT_SERVED if names_page(answer) else known
        left.extend(found_in(answer))
    return statuses


def names_page(answer: httpx.Response) -> bool:
    """Whether a 404 says that the path belongs to a family that is not served."""
    content = answer.json()
    named: bool = content["documentation_url"].startswith(f"{BASE}/docs{PAGE}")
    return named and content["message"] == "Not Found"


async def test_no_url_is_a_dead_end(client: httpx.AsyncClient, world: World) -> None:
    asked = [one for one in OPERATIONS if one.method == "GET"]
    start = [f"{BASE}/", *(f"{BASE}{path(one, world)}" for one in asked)]
    found: dict[str, set[int]] = {}
    for headers in callers(world).values():
        for url, status in (await crawl(client, headers, start)).items():
            found.setdefault(url, set()).add(status)
    dead = {url for url in found if DEAD_END in found[url]}
    assert dead == set()
    served = {url for url in found if template_of(url) is not None}
    answered = {url for url in served if found[url] - {401, 403, 404}}
    hidden = {url for url in served - answered if template_of(url) not in EMPTY}
    methods = {template for template, method in lines(own()) if method == "get"}
    assert {url for url in hidden if template_of(url) in methods} == set()
    # The crawl has followed URLs beyond its start.
    assert len(answered) > len(asked)


def test_families_hold_no_operation() -> None:
    for one in OPERATIONS:
        if one.method == "GET":
            family = family_of(re.sub(r"\{[^}]+\}", "x", one.path))
            assert family is None, f"{one.path} is in {family.title}"


def test_a_family_has_its_own_place() -> None:
    assert len({one.place for one in FAMILIES}) == len(FAMILIES)


@pytest.mark.parametrize("caller", ["nobody", "reader"])
async def test_an_unserved_family_hides_private_repositories(
    client: httpx.AsyncClient, world: World, caller: str
) -> None:
    headers = callers(world)[caller]
    answers = [
        await client.get(f"/repos/octo/{name}/contents/README.md", headers=headers)
        for name in ("vault", "nothing")
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["documentation_url"].endswith(f"{PAGE}#contents-of-repositories")


async def test_a_dispatch_of_workflows_leads_to_their_family(
    client: httpx.AsyncClient, world: World
) -> None:
    path, event = "https://forge.example/api/v3/repos/octo/hello/dispatches", {"event_type": "x"}
    answer = await client.post(path, json=event, headers=callers(world)["reader"])
    assert answer.status_code == 404
    assert answer.json()["documentation_url"].endswith(f"{PAGE}#parts-of-workflow-runs")


@pytest.mark.parametrize(
    ("method", "path", "place"),
    [
        ("POST", "/api/graphql", "a-graphql-api"),
        ("POST", "/api/v3/graphql", "a-graphql-api"),
        ("POST", "/api/uploads/repos/octo/hello/releases/1/assets", "uploads-of-release-files"),
    ],
)
async def test_apis_beside_this_one_are_not_served(
    client: httpx.AsyncClient, world: World, method: str, path: str, place: str
) -> None:
    answer = await client.request(method, f"https://forge.example{path}")
    assert answer.status_code == 404
    assert answer.json()["message"] == "Not Found"
    assert answer.json()["documentation_url"].endswith(f"{PAGE}#{place}")
