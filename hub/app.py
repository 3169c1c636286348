"""The application: all wiring, and nothing is registered at import."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from functools import cache
from typing import Any

from starlette.applications import Starlette
from starlette.types import Lifespan, Receive, Scope, Send

from hub import batches, cors, ingest, reference, subscribe, websub
from hub.access import public
from hub.answers import Answer, json_answer
from hub.call import Call, Work
from hub.context import House, Judge
from hub.docs import anchor_of, documentation
from hub.entry import Cost, enter
from hub.openapi import document
from hub.operation import Operation
from hub.operations import OPERATIONS
from hub.pipeline import API, endpoint, operation_endpoint
from hub.resolve import BY_ID, PARAMETER
from hub.routing import Endpoint, Routes, path_of
from hub.settings import HubSettings
from store import Store
from store.errors import Missing

REPOSITORY = "/repos/{owner}/{repo}"


def create_app(
    store: Store,
    settings: HubSettings,
    judge: Judge,
    lifespan: Lifespan[Starlette] | None = None,
) -> Starlette:
    """The hub over a store. `judge(url)` raises Invalid where a callback may not be used."""
    house = House(store, settings, judge)
    prefix = house.urls.prefix
    routes = Routes(_missing(house))
    _add_operations(house, routes)
    others = _others(house)
    for line, (work, _, told) in others.items():
        method, _, path = line.partition(" ")
        # Also without the prefix: topics and the forges' webhooks are not paths of the API.
        for served in {path, prefix + path}:
            run = endpoint(house, work, f"#{anchor_of(line)}", told=told)
            routes.add(method, served, run)
    websub.add(house, routes)
    _add_reference(house, routes, {line: text for line, (_, text, _) in others.items()})
    routes.add("GET", "/healthz", endpoint(house, _healthy))
    return Starlette(routes=[routes], lifespan=_lasting(house, lifespan))


def _add_reference(house: House, routes: Routes, others: Mapping[str, str]) -> None:
    prefix = house.urls.prefix
    routes.add("GET", f"{prefix}/docs", endpoint(house, documentation(OPERATIONS, others)))

    # Made when it is first asked for: it costs more than all the rest of starting.
    @cache
    def described() -> Mapping[str, Any]:
        content = document(OPERATIONS, others, house.urls.root)
        return house.vocabulary.document(content) if house.vocabulary else content

    for path, work in reference.works(described).items():
        routes.add("GET", prefix + path, endpoint(house, work))


def _add_operations(house: House, routes: Routes) -> None:
    methods: dict[str, list[str]] = {}
    for operation in OPERATIONS:
        run = operation_endpoint(house, operation)
        for path in _paths(house, operation):
            routes.add(operation.method, path, run)
            # However its parameters are called, it is one path.
            methods.setdefault(PARAMETER.sub("{}", path), []).append(operation.method)
    for path, known in methods.items():
        routes.add("OPTIONS", path, endpoint(house, _preflight(known), told=API[-1:]))


def _paths(house: House, operation: Operation) -> list[str]:
    """Every path that an operation is at."""
    prefix = house.urls.prefix
    if operation.path == "/":
        return list(dict.fromkeys((prefix or "/", f"{prefix}/")))
    paths = [operation.path]
    if operation.path.startswith(REPOSITORY):
        paths.append(BY_ID + operation.path.removeprefix(REPOSITORY))
    return [prefix + spelled for path in paths for spelled in house.vocabulary.paths(path)]


def _others(house: House) -> Mapping[str, tuple[Work, str, tuple[Any, ...]]]:
    """What is not declared as an operation: its line of the reference, its work, its text, and
    what goes with its answers.
    """
    door = ingest.Ingest(house)
    return {
        "POST /hub": (subscribe.subscribe(house), subscribe.DESCRIPTION, API),
        "POST /events": (door.events, f"{ingest.EVENTS}\n\n{batches.DESCRIPTION}", ()),
        "POST /{owner}/{repo}/events/{event}": (door.topic, ingest.TOPIC, ()),
    }


def _lasting(house: House, lifespan: Lifespan[Starlette] | None) -> Lifespan[Starlette]:
    """The lifespan, at whose end the hub writes what it has not written yet."""

    @contextlib.asynccontextmanager
    async def run(app: Starlette) -> AsyncIterator[Mapping[str, Any] | None]:
        async with contextlib.AsyncExitStack() as stack:
            state = None if lifespan is None else await stack.enter_async_context(lifespan(app))
            stack.push_async_callback(house.close)
            yield state

    return run  # type: ignore[return-value]


def _missing(house: House) -> Endpoint:
    """What answers for paths that are not there: the API for its own."""
    anybody, prefix = public(), house.urls.prefix

    async def no_operation(call: Call) -> Answer:
        await house.store.read(enter, house, call, anybody, Cost())
        raise Missing("operation")

    async def nothing(call: Call) -> Answer:
        raise Missing("path")

    within, elsewhere = endpoint(house, no_operation, told=API), endpoint(house, nothing)

    async def run(scope: Scope, receive: Receive, send: Send, values: Mapping[str, str]) -> None:
        path = path_of(scope)
        is_api = path == prefix or path.startswith(f"{prefix}/")
        await (within if is_api else elsewhere)(scope, receive, send, values)

    return run


def _preflight(methods: list[str]) -> Work:
    allowed = [*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS"]

    async def work(call: Call) -> Answer:
        return cors.preflight(allowed)

    return work


async def _healthy(call: Call) -> Answer:
    return json_answer(200, {"status": "ok"})
