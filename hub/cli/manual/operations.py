"""The page `reference/operations.md`: every operation of the API."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from hub.api.assistant import downloads, usage
from hub.api.hooks import signing_keys
from hub.cli.manual.markdown import code, fence, page, sentence, table
from hub.ingest import batches, ingest, subscribe
from hub.openapi.document import document
from hub.openapi.examples import request
from hub.operations import EVENTS, OPERATIONS
from hub.rest.operation import Operation
from hub.ui.reference.views import operations as described_operations
from hub.ui.reference.views import shown as shown_operation

SERVER = "http://127.0.0.1:8765"
INTRODUCTION = """\
Each section says who may use the operation, which parameters and body it has, how it responds, and
which events it publishes. Every operation may also answer with the general [errors](errors.md).
`/reference` shows the same with all schemas, and programs read it at `/openapi.json`."""
# The statuses that the page on errors explains for all operations.
COMMON = {
    "301",
    "304",
    "307",
    "400",
    "401",
    "403",
    "404",
    "406",
    "408",
    "413",
    "415",
    "429",
    "500",
    "503",
}
VERSION_HEADER = "X-Service-Api-Version"
OTHERS: Mapping[str, str] = {
    "POST /hub": subscribe.DESCRIPTION,
    "POST /events": f"{ingest.EVENTS}\n\n{batches.DESCRIPTION}",
    "POST /{owner}/{repo}/events/{event}": ingest.TOPIC,
    "POST /usage": usage.DESCRIPTION,
    "GET /.well-known/webhook-keys/{key_set}": signing_keys.KEY_SET,
    "GET /reports/{report_id}": downloads.DESCRIPTION,
}
Json = Mapping[str, Any]


@cache
def api() -> Json:
    return document(OPERATIONS, dict(OTHERS), SERVER, EVENTS)


def operations() -> str:
    declared = {one.id: one for one in OPERATIONS}
    groups: dict[str, list[str]] = {}
    for group, path, method, described in described_operations(api()):
        parts = groups.setdefault(group, [f"## {group}"])
        one = shown_operation(api(), path, method, described)
        parts += _section(one, described, declared.get(one["id"]))
    return page(
        "# Operations", INTRODUCTION, *(part for name in sorted(groups) for part in groups[name])
    )


def title_of(operation_id: str) -> str:
    """Return the heading of an operation. Its slug is the operation's anchor."""
    group, _, name = operation_id.partition("/")
    return f"{group} {name.replace('-', ' ')}"


def _section(one: Mapping[str, Any], described: Json, declared: Operation | None) -> Iterator[str]:
    yield f"### {title_of(one['id'])}"
    yield fence(f"{one['method']} {one['path']}", "http")
    deprecated = "Deprecated: this operation will go away." if one["deprecated"] else ""
    yield " ".join([sentence(one["summary"]), deprecated]).strip()
    yield from one["text"]
    yield from _members("Parameters", one["parameters"])
    if one["body"] is not None:
        yield from _body(one["body"])
    yield from _answers(one["answers"])
    if declared is not None and declared.emits:
        yield f"**Events:** {', '.join(map(code, declared.emits))}."
    yield fence(request(api(), SERVER, one["method"], one["path"], described), "sh")


def _body(body: Mapping[str, Any]) -> Iterator[str]:
    need = "" if body["required"] else ", optional"
    kind = _spoken(body["spoken"])
    yield f"**Body:** {kind} as `{body['kind']}`{need}."
    if body["members"]:
        yield _table(body["members"])


def _members(title: str, members: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    rows = [one for one in members if one["name"] != VERSION_HEADER]
    if rows:
        yield f"**{title}:**"
        yield _table(rows)


def _table(members: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [
            code(one["name"]) + (f" ({one['place']})" if "place" in one else ""),
            ", ".join(part for part in (_spoken(one["spoken"]), one.get("bounds", "")) if part),
            "yes" if one["required"] else "no",
            one["text"],
        ]
        for one in members
    ]
    return table(["name", "type", "required", "meaning"], rows)


def _answers(answers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    good = [one for one in answers if one["status"] < "300"]
    bad = [one for one in answers if one["status"] >= "300" and one["status"] not in COMMON]
    said = [_success(one) for one in good]
    yield f"**Responses:** {'; '.join(said)}."
    if bad:
        yield f"**Errors:** {'; '.join(_error(one) for one in bad)}."


def _success(answer: Mapping[str, Any]) -> str:
    kind = _spoken(answer["spoken"])
    return f"{answer['status']} with {kind}" if kind else f"{answer['status']} without a body"


def _error(answer: Mapping[str, Any]) -> str:
    text = answer["text"].rstrip(".")
    return f"{answer['status']} {text[:1].lower()}{text[1:]}"


def _spoken(pieces: Sequence[tuple[str, str]]) -> str:
    """Join the pieces of a type's description, with the names of schemas as code."""
    return "".join(code(text) if name else text for text, name in pieces)
