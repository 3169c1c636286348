"""The parts of an operation's declaration, and the operation that the hub derives from it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send
from transactions import transaction

from hub.auth.access import as_user, on_user, public
from hub.auth.app_access import as_app
from hub.auth.enterprise_access import on_enterprise
from hub.auth.organization_access import on_org
from hub.auth.repository_access import OnRepo, on_repo
from hub.http.routing import Routes, path_of
from hub.operations import OPERATIONS
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.operation import Operation
from store import Connection, Row

ANY = on_repo("metadata", "read")
# The database gets no text of these models itself: functions check them, or JSON holds them.
SAFE = {"Answer", "ClientCredentials", "ClientTls", "DeliveryOptions", "PathOrdering"}
PATH = "/repos/{owner}/{repo}/things/{thing_id}"


def thing(db: Connection, repo_id: int, thing_id: int) -> Row | None:
    return None


def ops() -> OperationGroup:
    return OperationGroup("repos", thing_id=thing)


def test_a_declaration_has_all_that_an_operation_needs() -> None:
    group = ops()

    @group(f"DELETE {PATH}", ANY)
    def delete_thing(ctx: Context, thing: Row) -> None:
        """Delete a thing"""

    (one,) = group.operations
    assert (one.id, one.summary, one.method, one.path) == (
        "repos/delete-thing", "Delete a thing", "DELETE", PATH
    )  # fmt: skip
    assert (one.status, one.writes, one.body, one.arguments) == (204, True, None, {"thing"})


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.id)
def test_texts_of_bodies_and_queries_refuse_a_nul(operation: Operation) -> None:
    for declared in (operation.body, operation.query):
        schema = {} if declared is None else declared.json_schema()
        kept = {name: one for name, one in schema.get("$defs", {}).items() if name not in SAFE}
        places = [*texts_with_nul({**schema, "$defs": kept}, "")]
        assert not places, "use hub.rest.validation.Text"


def texts_with_nul(schema: Any, place: str) -> Iterator[str]:
    """The places of texts that may hold a NUL."""
    if isinstance(schema, list):
        for one in schema:
            yield from texts_with_nul(one, place)
    elif isinstance(schema, dict):
        is_free = schema.get("type") == "string" and not schema.keys() & {"enum", "const", "format"}
        if is_free and re.search(schema.get("pattern", ""), "a\0b"):
            yield place
        for name, one in schema.items():
            yield from texts_with_nul(one, f"{place}/{name}")


def test_access_has_no_default() -> None:
    with pytest.raises(TypeError, match="access"):
        ops()(f"GET {PATH}")  # type: ignore[call-arg]
    with pytest.raises(AssertionError, match="access is missing"):
        ops()(f"GET {PATH}", None)  # type: ignore[arg-type]


def test_access_is_spelled_right() -> None:
    for wrong in (
        {"level": "see"},
        {"level": "read", "role": "king"},
        {"level": "read", "scopes": ("hooks",)},
    ):
        with pytest.raises(AssertionError):
            on_repo("metadata", **wrong)  # type: ignore[arg-type]


def test_scopes_stand_for_every_permission() -> None:
    for declare in (
        lambda: on_org("issue_fields", "read", scopes=()),
        lambda: on_enterprise("enterprise_teams", "read", scopes=()),
        lambda: on_user("watching", "read", scopes=()),
        lambda: on_repo("metadata", "read", scopes=(), public_scopes=("public_repo",)),
        lambda: OnRepo(role="read", kinds=("personal",)),
    ):
        with pytest.raises(AssertionError, match="needs a scope"):
            declare()
    for access in (
        on_org("issue_fields", "read", scopes=(), kinds=("installation",)),
        on_repo("metadata", "read").or_anyone(),
        public(),
        as_user(),
        as_app(),
    ):
        assert not access.takes_scopes


def test_writing_operations_require_credentials() -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for access in (ANY.or_anyone(), public()):
            with pytest.raises(AssertionError, match="requires credentials"):
                ops()(f"{method} {PATH}", access)


def _no_context(repo: Row) -> None: ...
def _stranger(ctx: Context, repo: Row, other: int) -> None: ...
def _no_row(ctx: Context, repo: int) -> None: ...
def _no_page(ctx: Context, page: int) -> None: ...


@pytest.mark.parametrize("function", [_no_context, _stranger, _no_row, _no_page])
def test_arguments_come_from_somewhere(function: Any) -> None:
    function.__doc__ = "Do something"
    with pytest.raises(AssertionError):
        ops()(f"GET {PATH}", ANY)(function)


def test_a_wrong_route_or_a_missing_docstring_is_refused() -> None:
    def bare(ctx: Context) -> None: ...

    def reported(ctx: Context) -> None:
        """Do something"""

    with pytest.raises(AssertionError, match="docstring"):
        ops()(f"GET {PATH}", ANY)(bare)
    with pytest.raises(KeyError, match="other_id"):
        ops()("GET /repos/{owner}/{repo}/{other_id}", ANY)(reported)
    with pytest.raises(AssertionError):
        ops()("LOOK /repos", ANY)
    with pytest.raises(AssertionError, match="requires one in the path"):
        ops()("GET /nowhere", ANY)(reported)


def test_an_undeclared_event_cannot_be_emitted(seed: Any, store: Any) -> None:
    with pytest.raises(AssertionError, match="push is not in"), transaction(store) as db:
        Context(db, None, None).emit("push", seed.hello)  # type: ignore[arg-type]


def test_ids_and_routes_of_operations_are_unique() -> None:
    assert len({one.id for one in OPERATIONS}) == len(OPERATIONS)
    assert len({(one.method, one.path) for one in OPERATIONS}) == len(OPERATIONS)


async def test_fixed_segments_come_before_parameters() -> None:
    asked: list[tuple[str, dict[str, str]]] = []

    def endpoint(name: str) -> Any:
        async def run(scope: Scope, receive: Receive, send: Send, values: Any) -> None:
            asked.append((name, values))

        return run

    routes = Routes(endpoint("missing"))
    for path in ("/a/{x}", "/a/b", "/{y}/b/c", "/{y}/{z}"):
        routes.add("GET", path, endpoint(path))
    with pytest.raises(AssertionError, match="twice"):
        routes.add("GET", "/a/b", endpoint("again"))

    async def ask(path: str, method: str = "GET") -> tuple[str, dict[str, str]]:
        scope = {"type": "http", "method": method, "path": "?", "raw_path": path.encode()}
        await routes.handle(scope, None, None)  # type: ignore[arg-type]
        return asked.pop()

    assert await ask("/a/b") == ("/a/b", {})
    assert await ask("/a/b", "HEAD") == ("/a/b", {})
    assert await ask("/a/c%2Fd") == ("/a/{x}", {"x": "c/d"})
    assert await ask("/a/b/c") == ("/{y}/b/c", {"y": "a"})
    assert await ask("/d/e") == ("/{y}/{z}", {"y": "d", "z": "e"})
    for path in ("/", "/a", "/a/", "//b", "/a/b/d", "/a/b/c/d", ""):
        assert (await ask(path))[0] == "missing", path
    assert (await ask("/a/b", "POST"))[0] == "missing"


def test_a_missing_raw_path_is_encoded_again() -> None:
    assert path_of({"path": "/a b/ü"}) == "/a%20b/%C3%BC"
