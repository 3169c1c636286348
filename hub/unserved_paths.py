"""Requests for paths that nothing serves, and preflight requests for them."""

import functools
from collections.abc import Mapping

from starlette.types import Receive, Scope, Send

from hub.auth.access import AnyCaller
from hub.http import cors
from hub.http.errors import NotServed
from hub.http.response import Response
from hub.http.routing import Endpoint, Routes, path_of
from hub.openapi import not_served
from hub.operations import OPERATIONS
from hub.rest.authenticate import RequestCost, authorize_request
from hub.rest.context import Services
from hub.rest.group import METHODS
from hub.rest.middleware import API, wrap
from hub.rest.request import Request
from hub.rest.resolve import SLASHED, with_id
from hub.ui.dashboard import Dashboard
from hub.ui.section import ROOT
from store.errors import Missing

# Clients of an installation expect the REST API at /api/v3, and its other APIs beside it.
VERSION, BASES = "/v3", ("/graphql", "/uploads")


def add(services: Services, routes: Routes, dashboard: Dashboard | None) -> None:
    """Answer unknown paths: as the API's, the dashboard's, or with an empty 404.

    The API's are also those that are not served, but that an operation's parameter would match.
    Without these routes, `/user/keys` would mean the user with the id `keys`.
    """
    within = _no_operation(services)
    for path in _overlapping_paths():
        for served in with_id(path.replace("{*", "{")):
            routes.add("GET", services.urls.prefix + served, within, SLASHED)
    routes.missing = _not_found(services, routes, within, dashboard)


async def missing(request: Request) -> Response:
    raise Missing("path")


@functools.cache
def _overlapping_paths() -> list[str]:
    return not_served.overlapping_paths(one.path for one in OPERATIONS if one.method == "GET")


def _no_operation(services: Services) -> Endpoint:
    """Return the endpoint for paths of the API that no operation has."""
    anybody, prefix = AnyCaller(anyone=True), services.urls.prefix

    async def work(request: Request) -> Response:
        # Whatever form the client accepts, the path is missing.
        await services.store.read(
            authorize_request, services, request, anybody, RequestCost(), None
        )
        path = path_of(request.scope)
        beside = prefix if _within(path, prefix) else prefix.removesuffix(VERSION)
        family = not_served.family_of(path.removeprefix(beside))
        if family is not None:
            raise NotServed(family.place)
        raise Missing("operation")

    return wrap(services, work, headers=API, door="api")


def _not_found(
    services: Services, routes: Routes, within: Endpoint, dashboard: Dashboard | None
) -> Endpoint:
    """Return the endpoint for unknown paths. It passes requests for the API to `within`.

    A preflight request for a path of the API that has no method succeeds. Otherwise a script could
    not see the 404 of its request.
    """
    prefix, not_found = services.urls.prefix, routes.missing
    allowed = wrap(services, _allow_all, headers=API[-1:])
    bases = [f"{prefix.removesuffix(VERSION)}{base}" for base in BASES]
    lost = not_found
    if dashboard is not None:
        lost = wrap(services, dashboard.guarded(dashboard.lost), door="ui")

    async def run(scope: Scope, receive: Receive, send: Send, values: Mapping[str, str]) -> None:
        path = path_of(scope)
        if path.startswith(f"{ROOT}/"):
            await lost(scope, receive, send, values)
            return
        found = not_found
        if _within(path, prefix) or any(_within(path, base) for base in bases):
            succeeds = cors.is_preflight(scope) and not routes.methods_of(scope)
            found = allowed if succeeds else within
        await found(scope, receive, send, values)

    return run


async def _allow_all(request: Request) -> Response:
    return cors.preflight(METHODS)


def _within(path: str, base: str) -> bool:
    return path == base or path.startswith(f"{base}/")
