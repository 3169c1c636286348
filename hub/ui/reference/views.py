"""The reference of the API as its pages show it, made from the OpenAPI document."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hub.openapi import examples
from hub.ui.reference.schema_outline import bounds, members, type_text
from hub.ui.templating import render_part
from store.errors import Missing, existing

if TYPE_CHECKING:
    from markupsafe import Markup

Json = Mapping[str, Any]
DocumentLoader = Callable[[], Json]
METHODS = ("get", "post", "put", "patch", "delete")
BRACES = {ord("{"): None, ord("}"): None}


def groups_view(document: Json) -> dict[str, Any]:
    """Return the values of the page that lists every operation by its group."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for group, path, method, operation in operations(document):
        groups.setdefault(group, []).append(_named(path, method, operation))
    return {
        "groups": sorted(groups.items()),
        "events": [
            {"name": name, "summary": one["post"]["summary"], "schema": _payload(one)}
            for name, one in sorted(document.get("webhooks", {}).items())
        ],
        "server": document["servers"][0]["url"],
        "version": document["info"]["version"],
    }


def group_view(load_document: DocumentLoader, wanted: str, at: str) -> dict[str, Any]:
    """Return the values of a group's page: its operations, as HTML. Raises Missing.

    `load_document` must return the same document each time, because the HTML is cached. `at` is the
    URL of the reference.
    """
    return {"group": wanted, "operations": group_html(load_document, wanted, at)}


# The HTML depends only on the code and the settings, and takes 20 ms for the longest groups.
@lru_cache(maxsize=64)
def group_html(load_document: DocumentLoader, wanted: str, at: str) -> "Markup":
    """Return the operations of a group as HTML. Raises Missing."""
    document = load_document()
    found = [
        shown(document, path, method, operation)
        for group, path, method, operation in operations(document)
        if group == wanted
    ]
    if not found:
        raise Missing("group")
    return render_part("_reference_operations.html", {"operations": found, "at": at})


def schema_view(document: Json, name: str) -> dict[str, Any]:
    """Return the values of a schema's page, with the schema's members. Raises Missing."""
    schema = existing(document["components"]["schemas"].get(name), "schema")
    return {
        "name": name,
        "text": schema.get("description", ""),
        "members": members(document, schema),
        "spoken": type_text(schema),
    }


def operations(document: Json) -> Iterator[tuple[str, str, str, Json]]:
    """Yield group, path, method and description of each operation."""
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                operation = methods[method]
                yield operation["tags"][0], path, method.upper(), operation


def _named(path: str, method: str, operation: Json) -> dict[str, Any]:
    return {
        "path": path,
        "method": method,
        "anchor": f"{method.lower()}-{path.strip('/').replace('/', '-')}".translate(BRACES),
        "summary": operation.get("summary", ""),
        "deprecated": operation.get("deprecated", False),
    }


def shown(document: Json, path: str, method: str, operation: Json) -> dict[str, Any]:
    """Return an operation's values for the template: parameters, body, answers and examples."""
    parameters = [_resolved(document, one) for one in operation.get("parameters", [])]
    body = operation.get("requestBody")
    answers = [
        _answer(document, status, _resolved(document, one))
        for status, one in operation["responses"].items()
    ]
    server = document["servers"][0]["url"]
    return {
        **_named(path, method, operation),
        "id": operation.get("operationId", ""),
        "text": [part for part in operation.get("description", "").split("\n\n") if part],
        "parameters": [
            {
                "name": one["name"],
                "place": one["in"],
                "required": one.get("required", False),
                "spoken": type_text(one["schema"]),
                "text": one.get("description", ""),
                "bounds": bounds(one["schema"]),
            }
            for one in parameters
        ],
        "body": None if body is None else _body(document, body),
        "answers": answers,
        "request": examples.request(document, server, method, path, operation),
        "example": next((one for one in answers if one["example"] is not None), None),
    }


def _body(document: Json, body: Json) -> dict[str, Any]:
    kind, content = next(iter(body["content"].items()))
    return {
        "kind": kind,
        "required": body.get("required", False),
        "spoken": type_text(content["schema"]),
        "members": members(document, content["schema"]),
    }


def _answer(document: Json, status: str, answer: Json) -> dict[str, Any]:
    content = answer.get("content", {})
    schema = next((one["schema"] for one in content.values() if "schema" in one), None)
    return {
        "status": status,
        "text": answer.get("description", ""),
        "spoken": [] if schema is None else type_text(schema),
        "example": examples.answer(document, answer) if status.startswith("2") else None,
    }


def _payload(webhook: Json) -> list[tuple[str, str]]:
    return type_text(webhook["post"]["requestBody"]["content"]["application/json"]["schema"])


def _resolved(document: Json, one: Json) -> Json:
    """Return the parameter or answer itself, if the document has a reference in its place."""
    reference = one.get("$ref")
    if reference is None:
        return one
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return dict(found)
