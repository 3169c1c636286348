"""The API reference, rendered from the API's own description."""

from collections.abc import Iterator, Mapping
from typing import Any

from hub.http.errors import Forbidden
from hub.settings import HubSettings
from hub.ui.errors import NotSignedIn
from hub.ui.schema_outline import members, type_text
from hub.ui.section import Section
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer
from store.errors import Missing

Json = Mapping[str, Any]
METHODS = ("get", "post", "put", "patch", "delete")
DOORS = "doors"
"""The group of endpoints that are no operations, such as those that accept events."""


def _offered(settings: HubSettings, viewer: DashboardViewer) -> bool:
    if settings.api_reference == "admin":
        return viewer.operator
    return settings.api_reference != "off"


ui = Section("API", "/reference", "user", _offered)


def _document(look: ViewContext) -> Json:
    """Return the API's description, for the audience that the setting names.

    Raises Missing, NotSignedIn or Forbidden for others.
    """
    who, viewer = look.house.settings.api_reference, look.viewer
    if who == "off":
        raise Missing("reference: the setting api_reference is off")
    if who != "public" and viewer.caller is None and not viewer.operator:
        if viewer.is_guest:
            raise Forbidden("Sign in with a token to see the reference.")
        raise NotSignedIn
    if who == "admin" and not viewer.operator:
        raise Forbidden("The setting api_reference limits it to operators of the installation.")
    return look.described()


@ui.page("/reference", "reference.html", who="anyone", described=True)
def list_groups(look: ViewContext) -> dict[str, Any]:
    """List all operations by group."""
    document = _document(look)
    groups: dict[str, list[dict[str, Any]]] = {}
    for group, path, method, operation in _operations(document):
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


@ui.page("/reference/{group}", "reference_group.html", who="anyone", described=True)
def show_group(look: ViewContext) -> dict[str, Any]:
    """Show the operations of a group with their parameters and responses."""
    document, wanted = _document(look), look.values["group"]
    found = [
        _shown(document, path, method, operation)
        for group, path, method, operation in _operations(document)
        if group == wanted
    ]
    if not found:
        raise Missing("group")
    return {"group": wanted, "operations": found}


@ui.page("/reference/schemas/{name}", "reference_schema.html", who="anyone", described=True)
def show_schema(look: ViewContext) -> dict[str, Any]:
    """Show one schema with its members."""
    document, name = _document(look), look.values["name"]
    schema = document["components"]["schemas"].get(name)
    if schema is None:
        raise Missing("schema")
    return {
        "name": name,
        "text": schema.get("description", ""),
        "members": members(document, schema),
        "spoken": type_text(schema),
    }


def _operations(document: Json) -> Iterator[tuple[str, str, str, Json]]:
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                operation = methods[method]
                yield operation.get("tags", [DOORS])[0], path, method.upper(), operation


def _named(path: str, method: str, operation: Json) -> dict[str, Any]:
    return {
        "path": path,
        "method": method,
        "anchor": f"{method.lower()}-{path.strip('/').replace('/', '-')}".translate(BRACES),
        "summary": operation.get("summary", ""),
        "deprecated": operation.get("deprecated", False),
    }


BRACES = {ord("{"): None, ord("}"): None}


def _shown(document: Json, path: str, method: str, operation: Json) -> dict[str, Any]:
    parameters = [_resolved(document, one) for one in operation.get("parameters", [])]
    body = operation.get("requestBody")
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
            }
            for one in parameters
        ],
        "body": None if body is None else _body(document, body),
        "answers": [
            _answer(document, status, _resolved(document, one))
            for status, one in operation["responses"].items()
        ],
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
    }


def _payload(webhook: Json) -> list[tuple[str, str]]:
    return type_text(webhook["post"]["requestBody"]["content"]["application/json"]["schema"])


def _resolved(document: Json, one: Json) -> Json:
    """Return the object that a reference points to, or the object itself."""
    reference = one.get("$ref")
    if reference is None:
        return one
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return dict(found)
