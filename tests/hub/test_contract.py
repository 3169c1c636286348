"""The answers against the contract's schemas; the environment says where the contract is."""

import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest
from asserting import attempted

from hub.operations import OPERATIONS
from store import Store

CONTRACT = os.environ.get("TOCSIN_CONTRACT", "")
pytestmark = pytest.mark.skipif(not CONTRACT, reason="TOCSIN_CONTRACT names no contract.json")
HOOKS = "/repos/octo/hello/hooks"


@pytest.fixture(scope="module")
def contract() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(CONTRACT).read_text())
    return found


def declared(contract: dict[str, Any], method: str, path: str) -> dict[str, Any]:
    found: dict[str, Any] = contract["paths"][path][method.lower()]
    return found


def nullable(schema: Any) -> Any:
    """OpenAPI's `nullable` in JSON Schema's words."""
    if isinstance(schema, list):
        return [nullable(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: nullable(member) for name, member in schema.items()}
    if found.pop("nullable", False) is True and isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
    return found


def check(contract: dict[str, Any], answer: httpx.Response, method: str, path: str) -> None:
    """The answer's status is declared, and its body is as the schema of that status says."""
    jsonschema = pytest.importorskip("jsonschema")
    responses = declared(contract, method, path)["responses"]
    response = responses[str(answer.status_code)]
    if "$ref" in response:
        response = contract["components"]["responses"][response["$ref"].rpartition("/")[2]]
    if "content" not in response:
        assert answer.content == b""
        return
    schema = response["content"]["application/json"]["schema"]
    root = nullable({"components": contract["components"], "allOf": [schema]})
    jsonschema.Draft202012Validator(root, format_checker=jsonschema.FormatChecker()).validate(
        answer.json()
    )


def test_the_operations_are_the_contract_s(contract: dict[str, Any]) -> None:
    group = {
        (method.upper(), path): operation["operationId"]
        for path, operations in contract["paths"].items()
        for method, operation in operations.items()
        if operation.get("x-seed-group") == 21 and path != "/hub"
    }
    here = {(one.method, one.path): one.id for one in OPERATIONS}
    assert {line: here.get(line) for line in group} == group


async def test_answers(client: httpx.AsyncClient, store: Store, contract: dict[str, Any]) -> None:
    repos, one = "/repos/{owner}/{repo}/hooks", "/repos/{owner}/{repo}/hooks/{hook_id}"

    async def ask(method: str, path: str, line: str, **how: Any) -> Any:
        answer = await client.request(method, path, **how)
        check(contract, answer, method, line)
        return answer.json() if answer.content else None

    config = {"url": "https://receiver.example/in", "secret": "s"}
    hook = await ask("POST", HOOKS, repos, json={"config": config, "events": ["*"]})
    path = f"{HOOKS}/{hook['id']}"
    await client.post("/octo/hello/events/push", json={})
    attempted(store, hook["id"])
    await ask("GET", HOOKS, repos)
    await ask("GET", path, one)
    await ask("PATCH", path, one, json={"active": True})
    await ask("GET", f"{path}/config", f"{one}/config")
    await ask("PATCH", f"{path}/config", f"{one}/config", json={"insecure_ssl": "1"})
    await ask("POST", f"{path}/pings", f"{one}/pings")
    await ask("POST", f"{path}/tests", f"{one}/tests")
    attempted(store, hook["id"], status=None, error="connect: refused")
    for item in await ask("GET", f"{path}/deliveries", f"{one}/deliveries"):
        line = f"{one}/deliveries/{{delivery_id}}"
        await ask("GET", f"{path}/deliveries/{item['id']}", line)
        await ask("POST", f"{path}/deliveries/{item['id']}/attempts", f"{line}/attempts")
    await ask("GET", f"{path}/deliveries?cursor=x", f"{one}/deliveries")
    await ask("GET", f"{path}/deliveries?status=x", f"{one}/deliveries")
    await ask("POST", HOOKS, repos, json={})
    await ask("DELETE", path, one)
    await ask("GET", path, one)
    fields = {"hub.mode": "x", "hub.topic": "x", "hub.callback": "x"}
    await ask("POST", "/hub", "/hub", data=fields)
    ping = await client.post("/hub", data={
        "hub.mode": "subscribe",
        "hub.topic": "/octo/hello/events/push",
        "hub.callback": "https://receiver.example/",
    })  # fmt: skip
    check(contract, ping, "POST", "/hub")


async def test_an_embedded_repository_and_user(
    client: httpx.AsyncClient, store: Store, contract: dict[str, Any]
) -> None:
    from asserting import bodies

    jsonschema = pytest.importorskip("jsonschema")
    await client.post(HOOKS, json={"config": {"url": "https://receiver.example/"}})
    (ping,) = bodies(store, "ping")
    for member, name in (("repository", "minimal-repository"), ("sender", "simple-user")):
        reference = {"$ref": f"#/components/schemas/{name}"}
        root = nullable({"components": contract["components"], **reference})
        jsonschema.Draft202012Validator(root).validate(ping[member])
