"""Checks of responses against two OpenAPI documents: the server's own, and the contract."""

import json
import re
from functools import cache, cached_property, reduce
from pathlib import Path
from typing import Any

import httpx
from jsonschema_rs import Draft202012Validator, Registry
from pydantic import TypeAdapter

from hub.openapi.document import document
from hub.openapi.other_endpoints import OTHER_ENDPOINTS
from hub.operations import EVENTS, OPERATIONS
from store.delivery.outbox import MARK
from store.hooks.event_names import HUB_EVENTS

CONTRACTS = Path(__file__).parents[1] / "contract"
# The specified operations, and the operations around them that clients call first.
PARTS = ("contract.json", "around.json")
# Statuses that the request pipeline may send for any operation.
OF_ALL = {"301", "304", "307"}
# Members of payloads that have the schema of this name in the contract.
SHARED = {"repository"}
Json = dict[str, Any]
# The base URI of a document's references to its own components.
HERE = "urn:document"


class Described:
    """An OpenAPI document, and the checks of a response against it."""

    def __init__(self, content: Json) -> None:
        self.content = content
        # Fixed segments take precedence over parameters, as in the router.
        slashed = {path: _slashed(operations) for path, operations in content["paths"].items()}
        self._patterns = [
            (path, _pattern(path, slashed[path]))
            for path in sorted(slashed, key=lambda one: _fixed_first(one, slashed[one]))
        ]
        self._templates: dict[str, str | None] = {}
        self._validators: dict[tuple[str, str, str], Draft202012Validator] = {}
        self._by_schema: dict[str, Draft202012Validator] = {}

    def line(self, method: str, path: str) -> tuple[str, str] | None:
        """The document's path and method for a request. None if it has no such operation."""
        if path not in self._templates:
            matching = (template for template, one in self._patterns if one.fullmatch(path))
            self._templates[path] = next(matching, None)
        template = self._templates[path]
        if template is None or method.lower() not in self.content["paths"][template]:
            return None
        return template, method.lower()

    def response(self, path: str, method: str, status: int) -> Json | None:
        """The document's description of a response. None if the status is not declared."""
        found: Json | None = self.content["paths"][path][method]["responses"].get(str(status))
        if found is not None and "$ref" in found:
            found = self.content["components"]["responses"][found["$ref"].rpartition("/")[2]]
        return found

    def conform(self, answer: httpx.Response, path: str, method: str) -> None:
        """Assert that the response's status is declared, and that media type and body match it."""
        where = f"{method.upper()} {path}: {answer.status_code}"
        response = self.response(path, method, answer.status_code)
        assert response is not None, f"{where} is not in the document"
        content = response.get("content", {})
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        assert bool(answer.content) == bool(content), f"{where} has {answer.content[:100]!r}"
        assert kind in content or not content, f"{where} has {kind}"
        if kind == "application/json" and content:
            self._validator(path, method, str(answer.status_code)).validate(parsed(answer))

    def _validator(self, path: str, method: str, status: str) -> Draft202012Validator:
        key = path, method, status
        if key not in self._validators:
            response = self.response(path, method, int(status))
            assert response is not None
            self._validators[key] = self.validator(response["content"]["application/json"])
        return self._validators[key]

    def validator(self, media: Json) -> Draft202012Validator:
        """A validator for the schema of a media type in the document.

        Most errors have the same schema, and a new validator takes as long as a request.
        """
        schema = in_json_schema(media["schema"])
        key = json.dumps(schema)
        if key not in self._by_schema:
            self._by_schema[key] = Draft202012Validator(
                schema, registry=self._components, validate_formats=True
            )
        return self._by_schema[key]

    @cached_property
    def _components(self) -> Registry:
        # All validators share it, because each new registry parses the components again.
        return Registry([(HERE, {"components": in_json_schema(self.content["components"])})])


def parsed(answer: httpx.Response) -> Any:
    """The JSON of a response, which is parsed once for both documents."""
    if "json" not in answer.extensions:
        answer.extensions["json"] = answer.json()
    return answer.extensions["json"]


def _slashed(operations: Json) -> set[str]:
    """The parameters of a path that match several segments."""
    given = (one for operation in operations.values() for one in operation["parameters"])
    return {f"{{{one['name']}}}" for one in given if one.get("x-multi-segment")}


def _pattern(path: str, slashed: set[str]) -> re.Pattern[str]:
    return re.compile(
        re.sub(r"\{[^}]+\}", lambda found: ".*" if found[0] in slashed else "[^/]+", path)
    )


def _fixed_first(path: str, slashed: set[str]) -> list[int]:
    # The end comes last: `/commits/{ref}` would match `/commits/main/status` too.
    return [*(one.startswith("{") + (one in slashed) for one in path.split("/")), 3]


def in_json_schema(schema: Any) -> Any:
    """Translate `nullable` from OpenAPI to JSON Schema, and make references absolute."""
    if isinstance(schema, list):
        return [in_json_schema(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: in_json_schema(member) for name, member in schema.items()}
    if isinstance(at := found.get("$ref"), str):
        found["$ref"] = f"{HERE}{at}"
    if found.pop("nullable", False) is True and isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
    return found


@cache
def contract() -> Described:
    """The contract: the shapes and statuses that the platform's clients expect."""
    return Described(
        reduce(_merged, (json.loads((CONTRACTS / name).read_bytes()) for name in PARTS))
    )


def _merged(one: Json, other: Json) -> Json:
    """Add the paths and components of another document. Shared members must be equal."""
    for kind in ("paths", "components"):
        for name, members in other[kind].items():
            known = one[kind].setdefault(name, {})
            assert all(known.get(member, value) == value for member, value in members.items()), name
            known |= members
    return one


@cache
def own() -> Described:
    """The server's own document."""
    return Described(document(OPERATIONS, dict.fromkeys(OTHER_ENDPOINTS, "Do"), "", EVENTS))


def hold(answer: httpx.Response, prefix: str) -> None:
    """Check a response against both documents if its request names an operation.

    `prefix` is the path of the API's root.
    """
    request = answer.request
    path = request.url.raw_path.decode().partition("?")[0].removeprefix(prefix)
    line = own().line(request.method, path)
    if line is None:
        return
    own().conform(answer, *line)
    held = contract()
    if line not in lines(held):
        return
    response = held.response(*line, answer.status_code)
    if response is None:
        assert answer.is_error or str(answer.status_code) in OF_ALL, f"{line}: not in the contract"
    elif "content" in response or not answer.is_error:
        # The contract describes no body for some errors, but the hub sends one with each error.
        held.conform(answer, *line)


@cache
def _payload(name: str) -> tuple[frozenset[str], Draft202012Validator]:
    """The members of the payload of one of the hub's own events, and its validator."""
    described = own()
    media = described.content["webhooks"][name]["post"]["requestBody"]["content"]
    members = TypeAdapter(EVENTS[name]).json_schema()["properties"]
    return frozenset(members) | MARK.keys(), described.validator(media["application/json"])


@cache
def _component(name: str) -> Draft202012Validator:
    """The validator of a component of the contract."""
    return contract().validator({"schema": {"$ref": f"#/components/schemas/{name}"}})


def hold_event(name: str, payload: Json) -> None:
    """Check the payload of one of the hub's own events against the server's document.

    Receivers expect of every event that the members in `SHARED` are as in the contract. No other
    member of a platform's event is checked.
    """
    for member in SHARED & payload.keys():
        _component(member).validate(payload[member])
    if name in HUB_EVENTS:
        members, validator = _payload(name)
        assert payload.keys() <= members, f"undeclared in {name}: {payload.keys() - members}"
        validator.validate(payload)


@cache
def lines(held: Described) -> frozenset[tuple[str, str]]:
    """Every path and method of a document."""
    paths = held.content["paths"].items()
    return frozenset((path, method) for path, operations in paths for method in operations)
