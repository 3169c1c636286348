"""The application: all wiring, and nothing is registered at import."""

from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.types import Lifespan

from hub import batches, ingest, subscribe
from hub.answers import Answer, json_answer
from hub.context import House, Judge
from hub.docs import anchor_of, documentation
from hub.operations import OPERATIONS
from hub.pipeline import Call, Work, endpoint, operation_endpoint
from hub.routing import Routes
from hub.settings import HubSettings
from store import Store
from store.errors import Missing


def create_app(
    store: Store,
    settings: HubSettings,
    judge: Judge,
    lifespan: Lifespan[Starlette] | None = None,
) -> Starlette:
    """The hub over a store. `judge(url)` raises Invalid where a callback may not be used."""
    house = House(store, settings, judge)
    routes = Routes(missing=endpoint(house, _missing))
    prefix = house.urls.prefix
    for operation in OPERATIONS:
        path = prefix + operation.path
        routes.add(operation.method, path, operation_endpoint(house, operation))
    for line, (work, _) in _others(house).items():
        method, _, path = line.partition(" ")
        # Also without the prefix: topics and the forges' webhooks are not paths of the API.
        for served in {path, prefix + path}:
            routes.add(method, served, endpoint(house, work, f"#{anchor_of(line)}"))
    described = [(line, text) for line, (_, text) in _others(house).items()]
    routes.add("GET", f"{prefix}/docs", endpoint(house, documentation(OPERATIONS, described)))
    routes.add("GET", "/healthz", endpoint(house, _healthy))
    return Starlette(routes=[routes], lifespan=lifespan)


def _others(house: House) -> Mapping[str, tuple[Work, str]]:
    """What is not declared as an operation: its line of the reference, its work, its text."""
    door = ingest.Ingest(house)
    return {
        "POST /hub": (subscribe.subscribe(house), subscribe.DESCRIPTION),
        "POST /events": (door.events, f"{ingest.EVENTS}\n\n{batches.DESCRIPTION}"),
        "POST /{owner}/{repo}/events/{event}": (door.topic, ingest.TOPIC),
    }


async def _missing(call: Call) -> Answer:
    raise Missing(call.scope["path"])


async def _healthy(call: Call) -> Answer:
    return json_answer(200, {"status": "ok"})
