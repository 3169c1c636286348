"""Routing of paths whose parameters may hold slashes."""

from collections.abc import Mapping

import pytest
from starlette.types import Receive, Scope, Send

from hub.http import routing
from hub.http.routing import Endpoint, Routes

PATHS = (
    "/commits/{ref}/check-runs",
    "/commits/{sha}/comments",
    "/branches",
    "/branches/{branch}",
    "/refs/{kind}/all",
    "/refs/{ref}",
    "/trees/{ref}",
    "/trees/{ref}/status",
)
FOUND = {
    "/commits/main/check-runs": ("/commits/{ref}/check-runs", {"ref": "main"}),
    "/commits/heads/a/b/check-runs": ("/commits/{ref}/check-runs", {"ref": "heads/a/b"}),
    "/commits/check-runs/check-runs": ("/commits/{ref}/check-runs", {"ref": "check-runs"}),
    "/commits/0a/comments": ("/commits/{sha}/comments", {"sha": "0a"}),
    "/branches": ("/branches", {}),
    "/branches/a": ("/branches/{branch}", {"branch": "a"}),
    "/branches/a%2Fb": ("/branches/{branch}", {"branch": "a/b"}),
    "/branches/a/b%20c/d": ("/branches/{branch}", {"branch": "a/b c/d"}),
    "/refs/heads/all": ("/refs/{kind}/all", {"kind": "heads"}),
    "/refs/heads/any": ("/refs/{ref}", {"ref": "heads/any"}),
    "/refs/heads/": ("/refs/{ref}", {"ref": "heads/"}),
    "/refs/": ("/refs/{ref}", {"ref": ""}),
    "/trees/a/b": ("/trees/{ref}", {"ref": "a/b"}),
    "/trees/a/b/status": ("/trees/{ref}/status", {"ref": "a/b"}),
    "/trees/status": ("/trees/{ref}", {"ref": "status"}),
}


async def found(path: str, method: str = "GET") -> tuple[str, Mapping[str, str]] | None:
    """The route that serves a path, and the values of its parameters. None without a route."""
    reached: list[tuple[str, Mapping[str, str]]] = []

    def endpoint(line: str) -> Endpoint:
        async def run(
            scope: Scope, receive: Receive, send: Send, values: Mapping[str, str]
        ) -> None:
            reached.append((line, values))

        return run

    routes = Routes(endpoint(""))
    for line in PATHS:
        routes.add("GET", line, endpoint(line), ("ref", "branch"))
    routes.add("DELETE", "/refs/{kind}/every", endpoint("DELETE"))
    routes.add("POST", "/branches/latest", endpoint("POST"))
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode()}
    await routes.handle(scope, None, None)  # type: ignore[arg-type]  # the endpoints need neither
    return reached[0] if reached[0][0] else None


@pytest.mark.parametrize("path", FOUND)
async def test_parameters_with_slashes(path: str) -> None:
    assert await found(path) == FOUND[path]


@pytest.mark.parametrize(
    "path", ["/commits/0a/b/comments", "/commits/0a", "/commits//comments", "/branche", "/refs"]
)
async def test_unknown_paths_have_no_route(path: str) -> None:
    assert await found(path) is None


async def test_a_fixed_segment_hides_no_parameter_of_another_method() -> None:
    assert await found("/branches/latest") == ("/branches/{branch}", {"branch": "latest"})
    assert await found("/refs/heads/every") == ("/refs/{ref}", {"ref": "heads/every"})
    assert await found("/branches/latest", "HEAD") == await found("/branches/latest")
    assert await found("/branches/latest", "POST") == ("POST", {})
    assert await found("/branches/first", "POST") is None
    assert await found("/branches/latest", "PATCH") is None


@pytest.mark.parametrize("path", ["/commits/", "/branches/"])
async def test_each_segment_of_a_long_path_is_decoded_once_at_most(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[str] = []

    def unquote(text: str) -> str:
        decoded.append(text)
        return text

    monkeypatch.setattr(routing, "unquote", unquote)
    long = path + "a%20/" * 1000
    await found(long)
    assert sum(map(len, decoded)) <= len(long)
