"""The OpenAPI document, made from the declarations of the operations alone."""

import inspect
from collections.abc import Mapping, Sequence
from types import GenericAlias
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from hub import __version__
from hub.auth.access import Access
from hub.openapi.components import (
    ERRORS,
    PARAMETERS,
    RESPONSES,
    SCHEMAS,
    SCHEMES,
    headers_of,
    media_types,
    path_parameter,
)
from hub.openapi.other_endpoints import other_endpoint
from hub.openapi.requirements import requirements
from hub.openapi.webhooks import webhook
from hub.rest.operation import Operation
from hub.rest.resolve import PARAMETER
from hub.rest.validation import NONE
from hub.rest.versions import NEWEST

REF = f"{SCHEMAS}{{model}}"
Json = dict[str, Any]
# By the credentials of an access.
SECURITY: dict[str, list[Json]] = {
    "token": [{"token": []}],
    "any": [{}, {"token": []}],
    "none": [{}],
    "password": [{"password": []}],
    "app": [{"app": []}],
    "jwt": [{"appJwt": []}],
}


class SchemaGenerator(GenerateJsonSchema):
    """A schema generator that gives titles to types and not to their members.

    A member's title would only repeat its name. Client generators would make a type of each.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def document(
    operations: Sequence[Operation],
    others: Mapping[str, str],
    server: str,
    events: Mapping[str, Any] | None = None,
) -> Json:
    """Return the whole document.

    `others` maps "METHOD /path" of each endpoint that is no operation to its text. `server` is the
    URL that the API is served at. `events` maps the names of events that the hub declares itself to
    the types of their payloads.
    """
    events = events or {}
    schemas, defined = _shared_schemas(operations, events)
    paths: dict[str, Json] = {}
    for operation in operations:
        described = _operation(operation, schemas)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    for line, text in others.items():
        method, _, path = line.partition(" ")
        paths.setdefault(path, {})[method.lower()] = other_endpoint(line, text)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tocsin",
            "version": NEWEST,
            "description": f"The API of tocsin {__version__}.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": server}],
        "paths": paths,
        "webhooks": {
            name: webhook(name, payload, schemas[name, EVENT])
            for name, payload in sorted(events.items())
        },
        "components": {
            "schemas": defined | ERRORS,
            "responses": RESPONSES,
            "parameters": PARAMETERS,
            "securitySchemes": SCHEMES,
        },
    }


Key = tuple[str, str]
EVENT = "event"
WRITTEN = ("", "")
Schemas = tuple[dict[Key, Json], Json]
_kept: list[tuple[Sequence[Operation], Mapping[str, Any], Schemas]] = []


def _shared_schemas(operations: Sequence[Operation], events: Mapping[str, Any]) -> Schemas:
    """Return the schemas. Documents of the same operations and events share them.

    Making the schemas takes nearly all of the time of a document.
    """
    for known, declared, schemas in _kept:
        if known is operations and declared is events:
            return schemas
    made = _schemas(operations, events)
    _kept[:] = [(operations, events, made)]
    return made


def _schemas(operations: Sequence[Operation], events: Mapping[str, Any]) -> Schemas:
    """Return the schemas of bodies, answers and events by key, and their shared definitions."""
    declared: dict[Key, Any] = {
        (one.id, "answer"): one.answer for one in operations if one.answer not in (None, type(None))
    }
    declared |= {(name, EVENT): payload for name, payload in events.items()}
    inputs: list[tuple[Key, Any, TypeAdapter[Any]]] = [
        ((one.id, "body"), "validation", one.body) for one in operations if one.body is not None
    ]
    # One adapter looks at each type once. Adapters of their own would begin again with every
    # type that is part of others, which takes three times as long.
    every: Any = GenericAlias(tuple, (*declared.values(),))
    found, common = TypeAdapter.json_schemas(
        [*inputs, (WRITTEN, "serialization", TypeAdapter(every))],
        ref_template=REF,
        schema_generator=SchemaGenerator,
    )
    schemas = {key: schema for (key, _), schema in found.items()}
    written = schemas.pop(WRITTEN)["prefixItems"]
    return schemas | dict(zip(declared, written, strict=True)), common.get("$defs", {})


def _operation(operation: Operation, schemas: dict[Key, Json]) -> Json:
    text = (inspect.getdoc(operation.function) or "").partition("\n")[2].strip()
    found: Json = {
        "operationId": operation.id,
        "tags": [operation.group],
        "summary": operation.summary,
        "description": f"{text}\n\n{requirements(operation.access)}".strip(),
        "parameters": _parameters(operation),
        "responses": _responses(operation, schemas.get((operation.id, "answer"))),
        "security": _security(operation.access),
    }
    if operation.body is not None:
        found["requestBody"] = {
            "required": _needs_body(operation),
            "content": {"application/json": {"schema": schemas[operation.id, "body"]}},
        }
    if operation.deprecated is not None:
        found["deprecated"] = True
    return found


def _needs_body(operation: Operation) -> bool:
    assert operation.body is not None
    if operation.needs_body:
        return True
    try:
        operation.body.validate_json(NONE, strict=True)
    except ValidationError:
        return True
    return False


def _parameters(operation: Operation) -> list[Json]:
    found = [path_parameter(name) for name in PARAMETER.findall(operation.path)]
    found += _query(operation)
    if operation.pages is not None:
        default, most = operation.per_page
        size = {"type": "integer", "default": default, "maximum": most, "minimum": 1}
        found.append({"name": "per_page", "in": "query", "schema": size})
        found += [
            {"name": name, "in": "query", "schema": schema}
            for name, schema in operation.pages.PARAMETERS.items()
        ]
    return [*found, {"$ref": "#/components/parameters/api-version"}]


def _query(operation: Operation) -> list[Json]:
    if operation.query is None:
        return []
    schema = operation.query.json_schema(schema_generator=SchemaGenerator)
    assert "$defs" not in schema, f"{operation.id}: a query has texts and numbers in it"
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": member}
        for name, member in schema["properties"].items()
    ]


def _security(access: Access) -> list[Json]:
    asked = SECURITY[access.credentials]
    return [{}, *asked] if access.anyone and {} not in asked else asked


def _responses(operation: Operation, answer: Json | None) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for status in (operation.status, *operation.also):
        found[str(status)] = _success(operation, status, answer)
    for status in sorted(_error_statuses(operation)):
        found.setdefault(str(status), {"$ref": f"#/components/responses/{status}"})
    return found


def _success(operation: Operation, status: int, answer: Json | None) -> Json:
    described: Json = {
        "description": "Success",
        "headers": headers_of(operation, status),
    }
    if status not in (204, 304) and answer is not None:
        described["content"] = media_types(operation, answer)
    return described


def _error_statuses(operation: Operation) -> set[int]:
    """Return the error statuses that the declaration implies, and the ones that it names."""
    found = {400, 401, 403, 406, 415, 429, 500, 503, *operation.errors}
    if operation.conditional:
        found.add(304)
    if operation.steps or operation.access.credentials in ("app", "jwt"):
        found.add(404)
    if "{issue_number}" in operation.path or operation.setting is not None:
        found.add(410)
    if "{owner}/{repo}" in operation.path:
        found |= {301} if operation.method == "GET" else {307}
    if operation.body is not None:
        found |= {408, 413, 422}
    if operation.query is not None:
        found.add(422)
    if operation.writes:
        found |= {409, 422} if operation.body is not None else {409}
    return found
