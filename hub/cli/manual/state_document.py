"""The page `reference/state-document.md`: every key of the document that `tocsin load` reads."""

import re
from collections.abc import Iterator
from typing import Any

from hub.cli.manual.markdown import code, fence, page, sentence, table
from hub.cli.state.load import example
from hub.cli.state.models import StateDocument
from hub.ui.reference.schema_outline import members, type_text

INTRODUCTION = """\
`tocsin load FILE` brings the installation to the state that a document describes, in YAML or JSON:
all of it, or nothing. If you load the same document again, nothing changes. Things that the
document does not mention stay as they are. If an entry leaves out a key, an existing thing keeps
its value, unless the section says otherwise. A new thing gets the default. An unknown key is an
error. `tocsin load --example` prints a document with every key."""
REF = "#/components/schemas/{model}"


def state_document() -> str:
    schema = StateDocument.model_json_schema(ref_template=REF)
    known = {"components": {"schemas": schema.pop("$defs")}}
    shown = _examples()
    parts = ["# State document", INTRODUCTION]
    used: list[str] = []
    for name, member in schema["properties"].items():
        parts += _key(known, name, member, shown[name])
        _collect(known, member, used)
    parts.append("## Parts of entries")
    top = {_model(member) for member in schema["properties"].values()}
    for model in used:
        described = known["components"]["schemas"][model]
        if model not in top and "properties" in described:
            parts += [f"### {model}", _plain(described), _table(known, described)]
    return page(*parts)


def _key(known: Any, name: str, member: Any, text: str) -> Iterator[str]:
    described = known["components"]["schemas"][_model(member)]
    yield f"## {name}"
    yield _plain(described)
    yield _table(known, described)
    yield fence(text, "yaml")


def _plain(described: Any) -> str:
    return sentence(described.get("description", ""))


def _table(known: Any, described: Any) -> str:
    rows = [
        [
            code(one["name"]),
            ", ".join(part for part in (_spoken(one["spoken"]), _bounds(one["bounds"])) if part),
            "yes" if one["required"] else "no",
            one["text"],
        ]
        for one in members(known, described)
    ]
    return table(["key", "type", "required", "meaning"], rows)


def _spoken(pieces: list[tuple[str, str]]) -> str:
    return "".join(f"[{text}](#{text.lower()})" if name else text for text, name in pieces)


def _bounds(text: str) -> str:
    """Return bounds with the NUL of a pattern written as `\\0`."""
    return text.replace("\0", "\\0")


def _model(member: Any) -> str:
    return next(name for _, name in type_text(member) if name)


def _collect(known: Any, schema: Any, used: list[str]) -> None:
    """Add the names of all models that a schema refers to, in the order of their first use."""
    for _, name in type_text(schema):
        if name and name not in used:
            used.append(name)
            for one in known["components"]["schemas"][name].get("properties", {}).values():
                _collect(known, one, used)


def _examples() -> dict[str, str]:
    """Return the part of the example document for each key."""
    parts = re.split(r"^(?=[a-z_]+:)", example(), flags=re.MULTILINE)
    return {part.partition(":")[0]: part for part in parts[1:]}
