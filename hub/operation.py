"""How an operation is declared: once, and everything else is derived from the declaration."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import NoneType
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter

from hub.access import Access
from hub.context import Context, House
from hub.paging import Cursor, Page
from hub.resolve import Loader, Step, steps_of
from store import Row

F = TypeVar("F", bound=Callable[..., Any])
Before = Callable[[House, Any], Awaitable[None]]
"""Called with the parsed body after the caller was let in, before the transaction of the change."""

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the API with all that its declaration says."""

    group: str
    method: str
    path: str
    access: Access
    function: Callable[..., Any]
    status: int
    emits: tuple[str, ...]
    before: Before | None
    steps: tuple[Step, ...]
    rows: frozenset[str]
    """The rows among the function's arguments."""
    body: TypeAdapter[Any] | None
    query: TypeAdapter[Any] | None
    pages: type[Page] | type[Cursor] | None
    answer: Any
    """The handler's return annotation."""

    @property
    def id(self) -> str:
        """The published operationId."""
        return f"{self.group}/{self.function.__name__.replace('_', '-')}"

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.function.__doc__ or "").partition("\n")[0]

    @property
    def writes(self) -> bool:
        """Whether its handler runs in a transaction that writes."""
        return self.method != "GET"


class Group:
    """Operations of one group of the specification.

    `loaders` say how path parameters become rows: with `hook_id=hooks.get`, `{hook_id}` in a path
    becomes the argument `hook`, found within the row of the parameter before it.
    """

    def __init__(self, name: str, **loaders: Loader) -> None:
        self.name = name
        self.operations: list[Operation] = []
        self._loaders = loaders

    def __call__(
        self,
        line: str,
        access: Access,
        *,
        status: int | None = None,
        emits: tuple[str, ...] = (),
        before: Before | None = None,
    ) -> Callable[[F], F]:
        """Declare the function below as the operation of this line of the reference.

        `status` is that of success: 200, or 204 where the function returns None.
        """
        method, _, path = line.partition(" ")
        assert method in METHODS, line
        assert path.startswith("/"), line
        assert isinstance(access, Access), f"{line}: who may?"

        def declare(function: F) -> F:
            self.operations.append(
                _derived(self, method, path, access, function, status, emits, before)
            )
            return function

        return declare

    def steps(self, path: str) -> tuple[Step, ...]:
        """How the path's parameters become rows."""
        return steps_of(path, self._loaders)


def _derived(
    group: Group,
    method: str,
    path: str,
    access: Access,
    function: Callable[..., Any],
    status: int | None,
    emits: tuple[str, ...],
    before: Before | None,
) -> Operation:
    hints = get_type_hints(function, include_extras=True)
    answer = hints.pop("return")
    steps = group.steps(path)
    pages = hints.get("page")
    rows = {step.argument for step in steps}
    assert rows, f"{path}: access is to the path's first row"
    _check_arguments(function, hints, rows)
    assert function.__doc__, f"{function.__name__} needs a docstring: it is the summary"
    return Operation(
        group.name,
        method,
        path,
        access,
        function,
        status or (204 if answer is NoneType else 200),
        emits,
        before,
        steps,
        frozenset(rows & hints.keys()),
        TypeAdapter(hints["body"]) if "body" in hints else None,
        TypeAdapter(hints["query"]) if "query" in hints else None,
        pages,
        answer,
    )


def _check_arguments(function: Callable[..., Any], hints: dict[str, Any], rows: set[str]) -> None:
    names = list(inspect.signature(function).parameters)
    assert names[0] == "ctx", f"{function.__name__}: the first argument is ctx"
    assert hints["ctx"] is Context, f"{function.__name__}: ctx is a Context"
    unknown = set(names) - {"ctx", "body", "query", "page"} - rows
    assert not unknown, f"{function.__name__}: nothing in the path gives {unknown}"
    assert hints.get("page") in (None, Page, Cursor), f"{function.__name__}: page"
    assert all(hints[name] == Row for name in rows & set(names)), f"{function.__name__}: rows"
