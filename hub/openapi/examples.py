"""Examples of requests and answers, made from the schemas of the OpenAPI document."""

import re
from collections.abc import Mapping
from shlex import quote
from typing import Any

import orjson

from hub.openapi.components import SCHEMAS

Json = Mapping[str, Any]
# Objects that are nested deeper are left out: nobody would read an example of that size.
DEEPEST = 3
FORMATS = {
    "date-time": "2026-03-10T09:00:00Z",
    "date": "2026-03-10",
    "uri": "https://receiver.example/webhook",
    "email": "ada@example.com",
}
NAMES: dict[str, Any] = {
    "owner": "ada", "login": "ada", "username": "ada", "user": "ada", "org": "acme",
    "organization": "acme", "enterprise": "acme", "repo": "engine", "name": "engine",
    "full_name": "ada/engine", "event": "push", "events": ["push"], "content_type": "json",
    "url": "https://receiver.example/webhook", "email": "ada@example.com",
    "message": "A message", "description": "A description", "hub.mode": "subscribe",
    "hub.topic": "https://hub.example/ada/engine/events/push",
    "hub.callback": "https://receiver.example/webhook",
    "commit_sha": "6dcb09b5b57875f334f61aebed695e2e4193db5e",
    "sha": "6dcb09b5b57875f334f61aebed695e2e4193db5e", "branch": "main", "license": "mit",
    "full_ref": "refs/heads/main", "ref": "refs/heads/main", "secret": "SECRET",
    "client_id": "Iv1.0123456789abcdef", "day": "2026-03-10",
}  # fmt: skip
# Values for members whose names are not in NAMES, by the endings of the names.
ENDINGS = {
    "_at": FORMATS["date-time"],
    "_on": FORMATS["date"],
    "_url": "https://example.com/{}",
    "_login": NAMES["login"],
    "_email": FORMATS["email"],
    "_sha": NAMES["sha"],
}
PARAMETER = re.compile(r"\{([a-z_]+)\}")
CREDENTIALS = {
    "token": '-H "Authorization: Bearer $TOKEN"',
    "password": '-u "$LOGIN:$PASSWORD"',
    "app": '-u "$CLIENT_ID:$CLIENT_SECRET"',
    "appJwt": '-H "Authorization: Bearer $JWT"',
    "signature": '-H "X-Hub-Signature-256: sha256=$SIGNATURE"',
}


def request(document: Json, server: str, method: str, path: str, operation: Json) -> str:
    """Return the curl command for an operation."""
    parts = ["curl"] if method == "GET" else [f"curl -X {method}"]
    kinds = [name for one in operation.get("security", ()) for name in one]
    parts += [CREDENTIALS[kinds[0]]] if kinds else []
    body = operation.get("requestBody")
    if body is not None:
        kind, content = next(iter(body["content"].items()))
        parts += _body(document, kind, content["schema"])
    return " \\\n  ".join([*parts, quote(server + PARAMETER.sub(_in_path, path))])


def answer(document: Json, described: Json) -> str | None:
    """Return the JSON of an answer. Return None if it has no JSON."""
    schema = described.get("content", {}).get("application/json", {}).get("schema")
    return None if schema is None else _pretty(value(document, schema))


def value(document: Json, schema: Json, name: str = "", depth: int = 0) -> Any:
    """Return a value that a schema describes.

    `name` is the member's name, by which the value is chosen. `depth` is how deep it is nested.
    """
    if "$ref" in schema:
        target = str(schema["$ref"]).removeprefix(SCHEMAS)
        return value(document, document["components"]["schemas"][target], name, depth)
    for key in ("const", "example"):
        if key in schema:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    several = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if several:
        known = [one for one in several if one.get("type") != "null"]
        return value(document, (known or several)[0], name, depth)
    return _of_kind(document, schema, name, depth)


def _of_kind(document: Json, schema: Json, name: str, depth: int) -> Any:
    kinds = schema.get("type", "object")
    kind = next(one for one in kinds if one != "null") if isinstance(kinds, list) else kinds
    if kind == "object":
        return _object(document, schema, depth)
    if kind == "array":
        if name in NAMES and isinstance(NAMES[name], list):
            return NAMES[name]
        if depth > DEEPEST:
            return []
        return [value(document, schema.get("items", {}), name.removesuffix("s"), depth + 1)]
    return _scalar(schema, kind, name)


def _object(document: Json, schema: Json, depth: int) -> dict[str, Any]:
    members = schema.get("properties", {})
    if depth > DEEPEST:
        return {}
    required = schema.get("required", ())
    return {
        name: value(document, one, name, depth + 1)
        for name, one in members.items()
        # Deeper down, only required members are shown, so that the example stays short.
        if depth < 2 or name in required
    }


def _scalar(schema: Json, kind: str, name: str) -> Any:
    if kind == "boolean":
        return schema.get("default", True)
    if kind in ("integer", "number"):
        return schema.get("default") or max(schema.get("minimum", 1), 1)
    if kind == "null":
        return None
    known = NAMES.get(name) or FORMATS.get(schema.get("format", "")) or _by_ending(name)
    fits = isinstance(known, str) and re.search(schema.get("pattern", ""), known)
    return known if fits else name.upper() or "TEXT"


def _by_ending(name: str) -> str | None:
    found = ((text, ending) for ending, text in ENDINGS.items() if name.endswith(ending))
    return next((text.format(name.removesuffix(ending)) for text, ending in found), None)


def _in_path(found: re.Match[str]) -> str:
    name = found[1]
    if name in NAMES:
        return str(NAMES[name])
    return "1" if name.endswith(("_id", "_number")) else name.upper()


def _body(document: Json, kind: str, schema: Json) -> list[str]:
    found = value(document, schema)
    if kind == "application/x-www-form-urlencoded":
        return [f"-d {quote(f'{name}={text}')}" for name, text in found.items()]
    content = quote(_pretty(found)) if kind == "application/json" else "@lines.ndjson"
    flag = "-d" if kind == "application/json" else "--data-binary"
    return [f'-H "Content-Type: {kind}"', f"{flag} {content}"]


def _pretty(found: Any) -> str:
    return orjson.dumps(found, option=orjson.OPT_INDENT_2).decode()
