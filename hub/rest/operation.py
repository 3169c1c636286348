"""API operations. One is declared once, and everything else is derived from the declaration."""

import functools
import inspect
import operator
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, TypedDict, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from hub.auth.access import Access
from hub.http.response import TypedReply
from hub.rest.auditing import declared
from hub.rest.context import Context, Services
from hub.rest.fetching.long_polls import NothingYet
from hub.rest.paging import DEFAULT, MOST, Paging
from hub.rest.resolve import PathStep
from hub.rest.versions import VERSIONS
from store import Row

Before = Callable[[Services, Any], Awaitable[None]]
"""A check of the parsed body. It runs after authorization and before the change's transaction."""

Waits = Callable[[Mapping[str, Any], Any], tuple[int, float]]
"""Returns for which hook a request waits, and for how many seconds at most.

It gets the rows of the path and the parsed body."""


@dataclass(frozen=True, slots=True)
class Deprecation:
    """The deprecation of an operation: the dates of its announcement and its end (YYYY-MM-DD).

    `successor` is the path or the reference line of the operation that replaces it.
    """

    since: str
    sunset: str
    successor: str | None = None


class OperationOptions(TypedDict, total=False):
    """The options of a declaration beside its line and access."""

    status: int
    """The status of success. Default: 200, or 204 if the function returns None."""
    also: tuple[int, ...]
    """Other statuses of success, which the handler returns with a TypedReply."""
    errors: tuple[int, ...]
    """Error statuses that do not follow from the declaration."""
    emits: tuple[str, ...]
    """Events that the operation emits."""
    before: Before
    waits: Waits
    """How long it waits while its handler returns NothingYet."""
    bodies: int
    """How many times the usual limit its body may be large."""
    needs_body: bool
    """Whether it refuses a request without a body, even if no member of the body is required."""
    deprecated: Deprecation
    since: str
    """The first version of the API that has it."""
    until: str
    """The first version of the API that no longer has it."""
    default_per_page: int
    max_per_page: int
    created: bool
    """Whether it creates content that notifies others. Such requests have limits of their own."""
    media: tuple[str, ...]
    """Media type parameters it supports beside plain JSON: raw, html, ..."""
    family: str | None
    """The name after the vendor in its own media types (`commitcomment`), which are JSON too.

    Empty for the vendor's name alone. None if its other media types are no JSON."""
    category: str
    """The rate limit category it counts for; empty for none."""
    points: int
    """Its cost in points, which are limited per minute. Default: 5 if it writes, and else 1."""
    conditional: bool
    """Whether its response has an ETag. Default: true for GET."""
    audited: bool
    """Whether the audit log records it. Default: true for all that changes something."""
    computes: bool
    """Whether its handler only reads, and computes for long. It then runs apart from all writes."""
    setting: str
    """The hub setting that enables it. While that is off, the operation is answered 410."""
    old_path: str
    """Another path with the same parameters, which older clients and URLs in answers have."""


class Emits(TypedDict):
    """The `emits` option that several operations of a group share."""

    emits: tuple[str, ...]


class Forms(TypedDict):
    """The media type options that several operations of a group share."""

    media: tuple[str, ...]
    family: str | None


class FrequentOptions(TypedDict):
    """The options that operations share that programs call all the time, and so are cheap."""

    status: int
    errors: tuple[int, ...]
    category: str
    points: int
    audited: bool


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation of the API with all that its declaration says.

    Its validators are made when they are first used: most processes use few of them.
    """

    group: str
    method: str
    path: str
    access: Access
    function: Callable[..., Any]
    status: int
    also: tuple[int, ...] = ()
    errors: tuple[int, ...] = ()
    emits: tuple[str, ...] = ()
    before: Before | None = None
    waits: Waits | None = None
    bodies: int = 1
    needs_body: bool = False
    deprecated: Deprecation | None = None
    versions: tuple[str, ...]
    """The API versions that have it."""
    per_page: tuple[int, int]
    """The default and the maximum number of items on a page."""
    created: bool = False
    media: tuple[str, ...] = ()
    family: str | None = None
    category: str = "core"
    points: int | None = None
    """The cost in points; None for the default cost."""
    conditional: bool
    audited: bool
    computes: bool = False
    setting: str | None = None
    old_path: str | None = None
    steps: tuple[PathStep, ...]
    arguments: frozenset[str]
    """The function's parameters that come from the path."""
    body_type: Any
    """The annotation of the argument `body`; None without one."""
    query_type: Any
    """The annotation of the argument `query`; None without one."""
    pages: type[Paging] | None
    answer: Any
    """The handler's return annotation, without TypedReply."""

    @functools.cached_property
    def body(self) -> TypeAdapter[Any] | None:
        """The validator of its body."""
        return None if self.body_type is None else TypeAdapter(self.body_type)

    @functools.cached_property
    def query(self) -> TypeAdapter[Any] | None:
        """The validator of its query."""
        return None if self.query_type is None else TypeAdapter(self.query_type)

    @functools.cached_property
    def only_object(self) -> bool:
        """Whether a body that is not a JSON object is always wrong."""
        return self.body is None or _is_object(self._body_schema)

    @functools.cached_property
    def fields(self) -> frozenset[str]:
        """The names of the body's members, and of nested members after a dot."""
        return declared(self._body_schema)

    @functools.cached_property
    def _body_schema(self) -> dict[str, Any]:
        return {} if self.body is None else self.body.json_schema()

    @property
    def id(self) -> str:
        """Return the published operationId."""
        # A handler whose name would shadow a builtin ends with an underscore.
        return f"{self.group}/{self.function.__name__.rstrip('_').replace('_', '-')}"

    @property
    def summary(self) -> str:
        """Return the first line of the docstring."""
        return (self.function.__doc__ or "").partition("\n")[0]

    @property
    def writes(self) -> bool:
        """Return whether its handler needs a write transaction."""
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
    """Derive an operation from a function and its declaration."""
    hints = get_type_hints(function, include_extras=True)
    answer = _without_reply(hints.pop("return"))
    _check_arguments(function, hints, steps)
    assert function.__doc__, f"{function.__name__} needs a docstring, which becomes the summary"
    options: dict[str, Any] = {
        "status": 204 if answer is NoneType else 200,
        "conditional": method == "GET",
        "audited": method != "GET" and not details.get("computes"),
        **details,
    }
    since, until = options.pop("since", ""), options.pop("until", "9999")
    return Operation(
        group=group,
        method=method,
        path=path,
        access=access,
        function=function,
        versions=tuple(version for version in VERSIONS if since <= version < until),
        per_page=(options.pop("default_per_page", DEFAULT), options.pop("max_per_page", MOST)),
        steps=steps,
        arguments=frozenset(step.argument for step in steps) & hints.keys(),
        body_type=hints.get("body"),
        query_type=hints.get("query"),
        pages=hints.get("page"),
        answer=answer,
        **options,
    )


def _without_reply(annotation: Any) -> Any:
    """Remove TypedReply and NothingYet from a return annotation.

    Any replaces an annotation that is only TypedReply.
    """
    if annotation is TypedReply:
        return Any
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    kinds = [kind for kind in get_args(annotation) if kind not in (TypedReply, NothingYet)]
    return functools.reduce(operator.or_, kinds)


def _is_object(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "object" or "$ref" in schema


def _check_arguments(
    function: Callable[..., Any], hints: dict[str, Any], steps: tuple[PathStep, ...]
) -> None:
    name = function.__name__
    given = list(inspect.signature(function).parameters)
    assert given[0] == "ctx", f"{name}: the first argument is ctx"
    assert hints["ctx"] is Context, f"{name}: ctx is a Context"
    unknown = set(given) - {"ctx", "body", "query", "page"} - {step.argument for step in steps}
    assert not unknown, f"{name}: the path has no parameter for {unknown}"
    assert issubclass(hints.get("page", Paging), Paging), f"{name}: page"
    for step in steps:
        assert hints.get(step.argument) in (None, Row if step.is_row else str), f"{name}: {step}"
