"""JSON schemas in words, for the API reference."""

from collections.abc import Mapping
from typing import Any

import orjson

from hub.openapi.components import SCHEMAS

Json = Mapping[str, Any]
Spoken = list[tuple[str, str]]
"""Pieces of text, each with the name of the schema that it links to, or an empty name."""

BOUNDS = (
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("maxItems", "at most {} items"),
    ("pattern", "matching {}"),
    ("default", "default {}"),
)


def type_text(schema: Json) -> Spoken:
    """Return the type of a value: `text or null`, `list of Hook`."""
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix(SCHEMAS)
        return [(name, name)]
    if "const" in schema:
        return [(repr(schema["const"]), "")]
    if "enum" in schema:
        return [(" or ".join(repr(one) for one in schema["enum"]), "")]
    several = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if several:
        return _joined([type_text(one) for one in several])
    if schema.get("type") == "array":
        return [("list of ", ""), *type_text(schema.get("items", {}))]
    return [(_kind(schema), "")]


def _joined(parts: list[Spoken]) -> Spoken:
    found: Spoken = []
    for part in parts:
        found += [(" or ", ""), *part] if found else part
    return found


def _kind(schema: Json) -> str:
    kind = schema.get("type", "anything")
    name = " or ".join(kind) if isinstance(kind, list) else str(kind)
    return f"{name} ({schema['format']})" if "format" in schema else name


def members(document: Json, schema: Json) -> list[dict[str, Any]]:
    """Return the members of an object, or of the objects in a list; empty for any other schema."""
    meant = _meant(document, schema)
    required = meant.get("required", ())
    return [
        {
            "name": name,
            "required": name in required,
            "spoken": type_text(one),
            "text": one.get("description", ""),
            "bounds": bounds(one),
        }
        for name, one in meant.get("properties", {}).items()
    ]


def bounds(schema: Json) -> str:
    """Return the limits and the default of a value in words; empty if it has none."""
    known = {key: schema[key] for key, _ in BOUNDS if schema.get(key) not in (None, [], {})}
    return ", ".join(text.format(_json(known[key])) for key, text in BOUNDS if key in known)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _meant(document: Json, schema: Json) -> Json:
    """Return the schema behind references, lists and nullable unions."""
    for _ in range(8):
        if "$ref" in schema:
            name = str(schema["$ref"]).removeprefix(SCHEMAS)
            schema = document["components"]["schemas"].get(name, {})
        elif schema.get("type") == "array":
            schema = schema.get("items", {})
        elif "anyOf" in schema:
            schema = next((one for one in schema["anyOf"] if one.get("type") != "null"), {})
        else:
            break
    return schema
