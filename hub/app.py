"""The hub's application and the administrators': all parts are wired here, none at import."""

import contextlib
import functools
import re
from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.types import Lifespan

from hub import unserved_paths
from hub.admin import admin
from hub.admin.administrators import AdminAuth
from hub.admin.observability import Observability
from hub.api.assistant import downloads, usage
from hub.api.hooks import signing_keys
from hub.http import cors
from hub.http.error_headings import operation_place
from hub.http.response import Response
from hub.http.routing import Line, Routes
from hub.ingest import batches, ingest, subscribe
from hub.mail import unsubscribe
from hub.manual import endpoints as manual
from hub.openapi.cache import OpenAPICache
from hub.openapi.other_endpoints import OTHER_ENDPOINTS
from hub.operations import OPERATIONS
from hub.rest.context import CallbackValidator, Services, Trials
from hub.rest.fetching.pull_queue import PullQueue
from hub.rest.middleware import API, wrap
from hub.rest.operation import Operation
from hub.rest.pipeline import operation_endpoint
from hub.rest.request import Handler, Request
from hub.rest.resolve import PARAMETER, SLASHED, with_id
from hub.rest.vocabulary import Vocabulary
from hub.settings import HubSettings
from hub.ui import assets
from hub.ui import routes as dashboard_routes
from hub.ui.dashboard import Dashboard
from hub.ui.reference import public_pages as reference
from hub.ui.site_sections import SECTIONS
from hub.websub import websub
from store import Store


def create_app(
    store: Store,
    settings: HubSettings,
    callback_validator: CallbackValidator,
    lifespan: Lifespan[Starlette] | None = None,
    observability: Observability | None = None,
    trials: Trials | None = None,
    pull_queue: PullQueue | None = None,
) -> Starlette:
    """Create the hub's application.

    `callback_validator(url)` raises Invalid if a callback may not be used. With `trials`, people
    can try a receiver in the dashboard. With `pull_queue`, receivers can fetch the deliveries of
    pull hooks.
    """
    observability = observability or Observability(store)
    services = Services(
        store,
        settings,
        callback_validator,
        observability.metrics,
        trials,
        pull_queue,
        ending=lambda: observability.phase == "ending",
        tracer=observability.tracer,
    )
    admins = AdminAuth(services, apart=False)
    openapi = OpenAPICache(services.urls, services.vocabulary, _texts(services))
    dashboard = (
        Dashboard(services, observability, admins, SECTIONS, openapi) if settings.ui else None
    )
    routes = Routes(wrap(services, unserved_paths.missing))
    _add_operations(services, routes)
    unserved_paths.add(services, routes, dashboard)
    _add_others(services, routes)
    websub.add(services, routes)
    unsubscribe.add(services, routes)
    if dashboard is not None:
        dashboard_routes.add(dashboard, routes)
    admin.add(services, routes, observability, admins, here=settings.admin_bind is None)
    serves_reference = settings.api_reference in ("public", "users") or (
        settings.api_reference == "admin" and settings.admin_bind is None
    )
    manual.add(services, routes, has_reference=serves_reference)
    if serves_reference:
        reference.add(services, routes, openapi, admins, dashboard=settings.ui)
    routes.trees()
    return Starlette(routes=[routes], lifespan=_lifespan(services, lifespan))


def create_admin_app(
    store: Store,
    settings: HubSettings,
    callback_validator: CallbackValidator,
    observability: Observability,
    *,
    describes: bool,
) -> Starlette:
    """Create the administrators' application, for a listener of its own.

    With `describes` it also serves the API's description, if that is for administrators only.
    """
    services = Services(store, settings, callback_validator, observability.metrics)
    routes = Routes(wrap(services, unserved_paths.missing))
    admins = AdminAuth(services, apart=True)
    admin.add(services, routes, observability, admins, here=True)
    if describes and settings.api_reference == "admin":
        openapi = OpenAPICache(services.urls, services.vocabulary, _texts(services))
        reference.add(services, routes, openapi, admins, dashboard=False)
        assets.add(services, routes)
    return Starlette(routes=[routes], lifespan=_lifespan(services, None))


def _add_others(services: Services, routes: Routes) -> None:
    for line, (work, _, headers, door) in _others(services).items():
        method, _, path = line.partition(" ")
        # Also without the prefix: topics and webhooks of forges are not paths of the API.
        for served in {path, services.urls.prefix + path}:
            run = wrap(
                services,
                work,
                operation_place(OTHER_ENDPOINTS[line].name),
                headers=headers,
                door=door,
            )
            routes.add(method, served, run)


def _texts(services: Services) -> dict[str, str]:
    return {line: text for line, (_, text, _, _) in _others(services).items()}


def _add_operations(services: Services, routes: Routes) -> None:
    words = tuple(services.vocabulary.mapped.items())
    operations, preflights = _operation_lines(services.urls.prefix, words)
    routes.add_all(operations, lambda line: operation_endpoint(services, operations[line]))
    preflight = wrap(services, _preflight(routes), headers=API[-1:])
    routes.add_all(preflights, lambda line: preflight)


@functools.lru_cache(maxsize=8)
def _operation_lines(
    prefix: str, words: tuple[tuple[str, str], ...]
) -> tuple[Mapping[Line, Operation], Collection[Line]]:
    """Return the operation of each line, and the lines of preflight requests."""
    vocabulary = Vocabulary(dict(words), "")
    operations: dict[Line, Operation] = {}
    preflights: dict[Line, None] = {}
    for operation in OPERATIONS:
        for path in _paths(prefix, vocabulary, operation):
            operations[Line(operation.method, path, SLASHED)] = operation
            preflights[Line("OPTIONS", PARAMETER.sub(_unnamed, path), SLASHED)] = None
    return operations, preflights.keys()


def _unnamed(parameter: re.Match[str]) -> str:
    """Replace a parameter's name, which makes no difference between paths."""
    return f"{{{SLASHED[0] if parameter[1] in SLASHED else ''}}}"


def _paths(prefix: str, vocabulary: Vocabulary, operation: Operation) -> list[str]:
    if operation.path == "/":
        return list(dict.fromkeys((prefix or "/", f"{prefix}/")))
    given = [operation.path] if operation.old_path is None else [operation.path, operation.old_path]
    paths = [path for one in given for path in with_id(one)]
    return [prefix + spelled for path in paths for spelled in vocabulary.paths(path)]


def _others(services: Services) -> Mapping[str, tuple[Handler, str, tuple[Any, ...], str]]:
    """Return the endpoints that are not operations, by their line in the reference.

    Each has its handler, its description, the headers of its responses, and its metrics label.
    """
    endpoints, files = ingest.IngestEndpoints(services), downloads.Downloads(services)
    return {
        "POST /hub": (
            functools.partial(subscribe.subscribe, services),
            subscribe.DESCRIPTION,
            API,
            "hub",
        ),
        "POST /events": (
            endpoints.events,
            f"{ingest.EVENTS}\n\n{batches.DESCRIPTION}",
            (),
            "events",
        ),
        "POST /{owner}/{repo}/events/{event}": (endpoints.topic, ingest.TOPIC, (), "topic"),
        "POST /usage": (usage.UsageEndpoint(services).take, usage.DESCRIPTION, (), "usage"),
        "GET /.well-known/webhook-keys/{key_set}": (
            functools.partial(signing_keys.key_set, services),
            signing_keys.KEY_SET,
            (),
            "api",
        ),
        "GET /reports/{report_id}": (files.report, downloads.DESCRIPTION, (), "reports"),
    }


def _lifespan(services: Services, lifespan: Lifespan[Starlette] | None) -> Lifespan[Starlette]:
    """Return a lifespan that writes the hub's pending data at its end."""

    @contextlib.asynccontextmanager
    async def run(app: Starlette) -> AsyncIterator[Mapping[str, Any] | None]:
        async with contextlib.AsyncExitStack() as stack:
            state = None if lifespan is None else await stack.enter_async_context(lifespan(app))
            stack.push_async_callback(services.close)
            yield state

    return run  # type: ignore[return-value]


def _preflight(routes: Routes) -> Handler:
    async def work(request: Request) -> Response:
        return cors.preflight(routes.methods_of(request.scope))

    return work
