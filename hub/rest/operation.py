"""What an operation is: declared once, and everything else is derived from the declaration."""

import functools
import inspect
import operator
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, TypedDict, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from hub.auth.access import Access
from hub.http.response import TypedReply
from hub.rest.auditing import declared
from hub.rest.context import Context, Services
from hub.rest.paging import DEFAULT, MOST, Paging
from hub.rest.resolve import PathStep
from hub.rest.versions import VERSIONS
from store import Row

Before = Callable[[Services, Any], Awaitable[None]]
"""Called with the parsed body after the caller was let in, before the transaction of the change."""


@dataclass(frozen=True, slots=True)
class Deprecation:
    """That an operation is going away: since when, when it ends (dates, YYYY-MM-DD), and the path
    or line of the reference that takes its place.
    """

    since: str
    sunset: str | None = None
    successor: str | None = None


class OperationOptions(TypedDict, total=False):
    """What a declaration may say beyond line and access."""

    status: int
    """That of success: 200, or 204 where the function returns None."""
    also: tuple[int, ...]
    """Other statuses of success, which the handler gives with a Reply."""
    errors: tuple[int, ...]
    """Statuses of errors that do not follow from the declaration."""
    emits: tuple[str, ...]
    """Events that it writes."""
    before: Before
    bodies: int
    """How many times the usual bound its body may have."""
    deprecated: Deprecation
    since: str
    """The version of the API that brought it."""
    until: str
    """The version of the API that is without it."""
    default_per_page: int
    max_per_page: int
    created: bool
    """It creates content that others are notified of, and so counts for that limit."""
    media: tuple[str, ...]
    """Parameters of the media type that it knows beside plain JSON: raw, html, ..."""
    family: str
    """What stands after the vendor in its own media types (`commitcomment`), whose answers are JSON
    too.
    """
    category: str
    """The rate limit that it counts for; empty for none."""
    conditional: bool
    """Whether its answer has an ETag; by default that of every GET."""
    audited: bool
    """Whether it changes something, so that the audit log tells of it; by default all but GET."""
    setting: str
    """The hub's setting without which it is gone."""


class Emits(TypedDict):
    """What several operations of a group emit, to be given beside other details."""

    emits: tuple[str, ...]


class Forms(TypedDict):
    """The media types that several operations of a group have, to be given beside other details."""

    media: tuple[str, ...]
    family: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the API with all that its declaration says."""

    group: str
    method: str
    path: str
    access: Access
    function: Callable[..., Any]
    status: int
    also: tuple[int, ...]
    errors: tuple[int, ...]
    emits: tuple[str, ...]
    before: Before | None
    bodies: int
    deprecated: Deprecation | None
    versions: tuple[str, ...]
    """Those that have it."""
    per_page: tuple[int, int]
    """The default and the most."""
    created: bool
    media: tuple[str, ...]
    family: str
    category: str
    conditional: bool
    audited: bool
    setting: str | None
    steps: tuple[PathStep, ...]
    arguments: frozenset[str]
    """Those of the function that the path gives."""
    body: TypeAdapter[Any] | None
    only_object: bool
    """Whether a body that is no JSON object can be told to be wrong as such."""
    fields: frozenset[str]
    """The names of the body's members, and of their members after a dot."""
    query: TypeAdapter[Any] | None
    pages: type[Paging] | None
    answer: Any
    """The handler's return annotation, without Reply."""

    @property
    def id(self) -> str:
        """The published operationId."""
        # With an underscore at its end, a name may be that of a builtin.
        return f"{self.group}/{self.function.__name__.rstrip('_').replace('_', '-')}"

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.function.__doc__ or "").partition("\n")[0]

    @property
    def writes(self) -> bool:
        """Whether its handler runs in a transaction that writes."""
        return self.method != "GET"


def derive(
    group: str,
    method: str,
    path: str,
    access: Access,
    steps: tuple[PathStep, ...],
    function: Callable[..., Any],
    details: OperationOptions,
) -> Operation:
    """The operation that a function is, by what is declared of it."""
    hints = get_type_hints(function, include_extras=True)
    answer = _without_reply(hints.pop("return"))
    _check_arguments(function, hints, steps)
    body = TypeAdapter(hints["body"]) if "body" in hints else None
    schema = {} if body is None else body.json_schema()
    assert function.__doc__, f"{function.__name__} needs a docstring: it is the summary"
    return Operation(
        group=group,
        method=method,
        path=path,
        access=access,
        function=function,
        status=details.get("status", 204 if answer is NoneType else 200),
        also=details.get("also", ()),
        errors=details.get("errors", ()),
        emits=details.get("emits", ()),
        before=details.get("before"),
        bodies=details.get("bodies", 1),
        deprecated=details.get("deprecated"),
        versions=_versions(details),
        per_page=(details.get("default_per_page", DEFAULT), details.get("max_per_page", MOST)),
        created=details.get("created", False),
        media=details.get("media", ()),
        family=details.get("family", ""),
        category=details.get("category", "core"),
        conditional=details.get("conditional", method == "GET"),
        audited=details.get("audited", method != "GET"),
        setting=details.get("setting"),
        steps=steps,
        arguments=frozenset(step.argument for step in steps) & hints.keys(),
        body=body,
        only_object=body is None or _is_object(schema),
        fields=declared(schema),
        query=TypeAdapter(hints["query"]) if "query" in hints else None,
        pages=hints.get("page"),
        answer=answer,
    )


def _without_reply(annotation: Any) -> Any:
    """The answer that a return annotation tells of; Any for one that is only a Reply."""
    if annotation is TypedReply:
        return Any
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    kinds = [kind for kind in get_args(annotation) if kind is not TypedReply]
    return functools.reduce(operator.or_, kinds)


def _is_object(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "object" or "$ref" in schema


def _versions(details: OperationOptions) -> tuple[str, ...]:
    since, until = details.get("since", ""), details.get("until", "9999")
    return tuple(version for version in VERSIONS if since <= version < until)


def _check_arguments(
    function: Callable[..., Any], hints: dict[str, Any], steps: tuple[PathStep, ...]
) -> None:
    name = function.__name__
    given = list(inspect.signature(function).parameters)
    assert given[0] == "ctx", f"{name}: the first argument is ctx"
    assert hints["ctx"] is Context, f"{name}: ctx is a Context"
    unknown = set(given) - {"ctx", "body", "query", "page"} - {step.argument for step in steps}
    assert not unknown, f"{name}: nothing in the path gives {unknown}"
    assert issubclass(hints.get("page", Paging), Paging), f"{name}: page"
    for step in steps:
        assert hints.get(step.argument) in (None, Row if step.is_row else str), f"{name}: {step}"
