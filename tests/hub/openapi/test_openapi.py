"""The OpenAPI document, and the reference pages that show it."""

import re

import httpx
import pytest
from contract_checks import own
from valid_documents import assert_valid

from hub.openapi.cache import OpenAPICache
from hub.openapi.other_endpoints import OTHER_ENDPOINTS
from hub.operations import OPERATIONS
from hub.rest.urls import Urls
from hub.rest.vocabulary import Vocabulary

BASE = "https://forge.example/api/v3"


@pytest.fixture
async def described(client: httpx.AsyncClient) -> dict:
    answer = await client.get("/openapi.json")
    assert answer.status_code == 200
    return answer.json()


async def test_the_document_is_valid(client: httpx.AsyncClient) -> None:
    answer = await client.get("/openapi.json")
    assert answer.status_code == 200
    assert_valid(answer.text)
    assert answer.json()["servers"] == [{"url": BASE}]


def test_caches_of_the_document_are_equal_if_the_root_the_words_and_the_endpoints_are() -> None:
    def cache(
        root: str = "https://one.example", *, health: str = "up", **words: str
    ) -> OpenAPICache:
        return OpenAPICache(Urls(root), Vocabulary(words, root), {"GET /healthz": health})

    assert {cache(), cache(), cache(service="service")} == {cache()}
    others = {cache("https://two.example"), cache(service="forge"), cache(health="down")}
    assert len(others | {cache()}) == 4


async def test_the_document_has_every_operation_and_endpoint(described: dict) -> None:
    found = {
        f"{method.upper()} {path}": operation["operationId"]
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
    }
    wanted = {f"{one.method} {one.path}": one.id for one in OPERATIONS}
    assert found == wanted | {line: door.name for line, door in OTHER_ENDPOINTS.items()}
    assert len(set(found.values())) == len(found)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.id)
async def test_declared_operations_are_described(operation) -> None:
    shown = own().content["paths"][operation.path][operation.method.lower()]
    assert shown["summary"] == operation.summary
    statuses = {int(status) for status in shown["responses"]}
    assert {operation.status, *operation.also, *operation.errors} <= statuses
    assert (404 in statuses) or not operation.steps
    assert ("requestBody" in shown) == (operation.body is not None)
    assert shown.get("deprecated", False) == (operation.deprecated is not None)
    names = {one.get("name") for one in shown["parameters"]}
    if operation.query is not None:
        assert operation.query.json_schema()["properties"].keys() <= names
    assert set(re.findall(r"\{([a-z_]+)\}", operation.path)) <= names


async def test_parameters_and_bodies(described: dict) -> None:
    deliveries = described["paths"]["/repos/{owner}/{repo}/hooks/{hook_id}/deliveries"]["get"]
    shown = {one["name"]: one for one in deliveries["parameters"] if "name" in one}
    assert shown["status"]["schema"]["enum"] == ["success", "failure"]
    assert shown["since"]["schema"] == {"format": "date-time", "type": "string"}
    assert not shown["status"]["required"]
    assert shown["hook_id"]["required"]
    emails = described["paths"]["/user/emails"]["post"]["requestBody"]
    assert emails["required"]
    hook = described["paths"]["/repos/{owner}/{repo}/hooks"]["post"]["requestBody"]
    assert not hook["required"]
    assert set(hook["content"]["application/json"]["schema"]) == {"$ref"}


@pytest.mark.parametrize("path", ["/reference", "/docs"])
async def test_a_page_loads_nothing_from_outside(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    for reference in re.findall(r'(?:src|href)="([^"#]+)', answer.text):
        assert "//" not in reference, reference
        found = await client.get(str(answer.url.join(reference)))
        assert found.status_code in (200, 303), reference


async def test_the_page_runs_no_script_but_its_own(client: httpx.AsyncClient) -> None:
    answer = await client.get("/reference")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert not re.search(r"<script(?![^>]*src=)", answer.text)
