"""The hub's application and the administrators': all parts are wired here, none at import."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.types import Lifespan, Receive, Scope, Send

from hub.admin import admin
from hub.admin.administrators import AdminAuth
from hub.admin.observability import Observability
from hub.api.assistant import downloads, usage
from hub.auth.access import public
from hub.http import cors
from hub.http.error_headings import operation_place
from hub.http.response import Response
from hub.http.routing import Endpoint, Routes, path_of
from hub.ingest import batches, ingest, subscribe
from hub.manual import endpoints as manual
from hub.openapi.cache import OpenAPICache
from hub.openapi.other_endpoints import OTHER_ENDPOINTS
from hub.operations import OPERATIONS
from hub.rest.authenticate import RequestCost, authorize_request
from hub.rest.context import CallbackValidator, Services
from hub.rest.middleware import API, wrap
from hub.rest.operation import Operation
from hub.rest.pipeline import operation_endpoint
from hub.rest.request import Handler, Request
from hub.rest.resolve import BY_ID, PARAMETER
from hub.settings import HubSettings
from hub.ui import assets
from hub.ui import public_reference as reference
from hub.ui import routes as doors
from hub.ui.section import ROOT
from hub.ui.sections import SECTIONS
from hub.ui.serve import Dashboard
from hub.websub import websub
from store import Store
from store.errors import Missing

REPOSITORY = "/repos/{owner}/{repo}"


def create_app(
    store: Store,
    settings: HubSettings,
    judge: CallbackValidator,
    lifespan: Lifespan[Starlette] | None = None,
    seeing: Observability | None = None,
) -> Starlette:
    """Create the hub's application. `judge(url)` raises Invalid if a callback may not be used."""
    seeing = seeing or Observability(store)
    house = Services(store, settings, judge, seeing.measures)
    admins = AdminAuth(house, apart=False)
    described = OpenAPICache(house.urls, house.vocabulary, _texts(house))
    dashboard = Dashboard(house, seeing, admins, SECTIONS, described) if settings.ui else None
    routes = Routes(_not_found(house, dashboard))
    _add_operations(house, routes)
    _add_others(house, routes)
    websub.add(house, routes)
    if dashboard is not None:
        doors.add(dashboard, routes)
    admin.add(house, routes, seeing, admins, here=settings.admin_bind is None)
    described_here = settings.api_reference in ("public", "users") or (
        settings.api_reference == "admin" and settings.admin_bind is None
    )
    manual.add(house, routes, described=described_here)
    if described_here:
        reference.add(house, routes, described, admins, dashboard=settings.ui)
    return Starlette(routes=[routes], lifespan=_lifespan(house, lifespan))


def create_admin_app(
    store: Store,
    settings: HubSettings,
    judge: CallbackValidator,
    seeing: Observability,
    *,
    describes: bool,
) -> Starlette:
    """Create the administrators' application, for a listener of its own.

    With `describes` it also serves the API's description, if that is for administrators only.
    """
    house = Services(store, settings, judge, seeing.measures)
    routes = Routes(wrap(house, _empty))
    admins = AdminAuth(house, apart=True)
    admin.add(house, routes, seeing, admins, here=True)
    if describes and settings.api_reference == "admin":
        described = OpenAPICache(house.urls, house.vocabulary, _texts(house))
        reference.add(house, routes, described, admins, dashboard=False)
        assets.add(house, routes)
    return Starlette(routes=[routes], lifespan=_lifespan(house, None))


def _add_others(house: Services, routes: Routes) -> None:
    for line, (work, _, told, door) in _others(house).items():
        method, _, path = line.partition(" ")
        # Also without the prefix: topics and webhooks of forges are not paths of the API.
        for served in {path, house.urls.prefix + path}:
            run = wrap(
                house, work, operation_place(OTHER_ENDPOINTS[line].name), told=told, door=door
            )
            routes.add(method, served, run)


def _texts(house: Services) -> dict[str, str]:
    return {line: text for line, (_, text, _, _) in _others(house).items()}


def _add_operations(house: Services, routes: Routes) -> None:
    methods: dict[str, list[str]] = {}
    for operation in OPERATIONS:
        run = operation_endpoint(house, operation)
        for path in _paths(house, operation):
            routes.add(operation.method, path, run)
            # The names of parameters make no difference between paths.
            methods.setdefault(PARAMETER.sub("{}", path), []).append(operation.method)
    for path, known in methods.items():
        routes.add("OPTIONS", path, wrap(house, _preflight(known), told=API[-1:]))


def _paths(house: Services, operation: Operation) -> list[str]:
    """Return all paths of an operation."""
    prefix = house.urls.prefix
    if operation.path == "/":
        return list(dict.fromkeys((prefix or "/", f"{prefix}/")))
    paths = [operation.path]
    if operation.path.startswith(REPOSITORY):
        paths.append(BY_ID + operation.path.removeprefix(REPOSITORY))
    return [prefix + spelled for path in paths for spelled in house.vocabulary.paths(path)]


def _others(house: Services) -> Mapping[str, tuple[Handler, str, tuple[Any, ...], str]]:
    """Return the endpoints that are not operations, by their line in the reference.

    Each has its handler, its description, the headers of its responses, and its metrics label.
    """
    door, files = ingest.IngestEndpoints(house), downloads.Downloads(house)
    return {
        "POST /hub": (subscribe.subscribe(house), subscribe.DESCRIPTION, API, "hub"),
        "POST /events": (door.events, f"{ingest.EVENTS}\n\n{batches.DESCRIPTION}", (), "events"),
        "POST /{owner}/{repo}/events/{event}": (door.topic, ingest.TOPIC, (), "topic"),
        "POST /usage": (usage.UsageDoor(house).take, usage.DESCRIPTION, (), "usage"),
        "GET /reports/{report_id}": (files.report, downloads.DESCRIPTION, (), "reports"),
    }


def _lifespan(house: Services, lifespan: Lifespan[Starlette] | None) -> Lifespan[Starlette]:
    """Return a lifespan that writes the hub's pending data at its end."""

    @contextlib.asynccontextmanager
    async def run(app: Starlette) -> AsyncIterator[Mapping[str, Any] | None]:
        async with contextlib.AsyncExitStack() as stack:
            state = None if lifespan is None else await stack.enter_async_context(lifespan(app))
            stack.push_async_callback(house.close)
            yield state

    return run  # type: ignore[return-value]


def _not_found(house: Services, dashboard: Dashboard | None) -> Endpoint:
    """Return the endpoint for unknown paths: the API's, the dashboard's, or an empty 404."""
    anybody, prefix = public(), house.urls.prefix

    async def no_operation(call: Request) -> Response:
        await house.store.read(authorize_request, house, call, anybody, RequestCost())
        raise Missing("operation")

    within = wrap(house, no_operation, told=API, door="api")
    not_found = wrap(house, _empty)
    lost = not_found if dashboard is None else wrap(house, dashboard.lost(), door="ui")

    async def run(scope: Scope, receive: Receive, send: Send, values: Mapping[str, str]) -> None:
        path = path_of(scope)
        if path.startswith(f"{ROOT}/"):
            await lost(scope, receive, send, values)
            return
        is_api = path == prefix or path.startswith(f"{prefix}/")
        await (within if is_api else not_found)(scope, receive, send, values)

    return run


def _preflight(methods: list[str]) -> Handler:
    allowed = [*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS"]

    async def work(call: Request) -> Response:
        return cors.preflight(allowed)

    return work


async def _empty(call: Request) -> Response:
    raise Missing("path")
