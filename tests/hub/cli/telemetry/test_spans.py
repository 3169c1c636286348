"""The spans that a receiver of OTLP gets of an event, from its acceptance to the last attempt."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from hub_client import judge
from otlp_receiver import OTLPReceiver, ReceivedSpan
from waiting import until
from worker_harness import WorkerHarness, said

from hub.admin.observability import Observability
from hub.app import create_app
from hub.cli.telemetry.running import running_telemetry
from hub.settings import HubSettings
from store.accounts import accounts, tokens
from store.clock import HOUR
from store.hooks import hooks
from store.pull.fetching import Acknowledgement, Fetch, Rejection
from store.tracing import Tracer
from worker.pull.fetch_queue import FetchQueue
from worker.settings import WorkerSettings

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{CALLER}-01"
PUSH = "/ada/engine/events/push"


@dataclass
class World:
    """A hub and a worker that export to `collector`."""

    harness: WorkerHarness
    client: httpx.AsyncClient
    collector: OTLPReceiver
    tracer: Tracer | None

    async def post(self, body: Any = None, path: str = PUSH, **headers: str) -> httpx.Response:
        content = orjson.dumps({} if body is None else body)
        kind = {"content-type": "application/json"}
        answer = await self.client.post(path, content=content, headers=kind | headers)
        assert answer.status_code == 202, answer.text
        return answer

    async def spans(self, name: str, count: int) -> list[ReceivedSpan]:
        await until(lambda: len(self.collector.spans(name)) >= count, f"{count} spans {name}")
        found = self.collector.spans(name)
        assert len(found) == count
        return found


@asynccontextmanager
async def running(url: str, folder: Path, collector: OTLPReceiver) -> AsyncIterator[World]:
    harness = WorkerHarness(folder, url=url)
    token = harness.store.write_sync(
        lambda db: tokens.create(db, accounts.by_login(db, "ada")["id"], scopes=["repo"])[0]
    )
    observability = Observability(harness.store)
    try:
        async with running_telemetry(observability) as observability.tracer:
            app = create_app(harness.store, HubSettings(), judge, observability=observability)
            await harness.work(tracer=observability.tracer)
            headers = {"Authorization": f"Bearer {token}", "User-Agent": "tests"}
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url="http://127.0.0.1", headers=headers
            ) as client:
                yield World(harness, client, collector, observability.tracer)
            await harness.rest()
    finally:
        await harness.close()


@pytest.fixture
async def world(url: str, tmp_path: Path, collector: OTLPReceiver) -> AsyncIterator[World]:
    async with running(url, tmp_path, collector) as made:
        yield made


def sent(world: World, name: str = "traceparent") -> list[str | None]:
    return [post.headers.get(name) for post in world.harness.network.posts]


async def test_the_spans_of_an_event_are_connected(world: World) -> None:
    hook_id = world.harness.hook("https://ci.example:8443/secret-path?token=s3cret")
    answer = await world.post(traceparent=PARENT, tracestate="shop=1")
    (created,) = await world.spans("create push", 1)
    (attempt,) = await world.spans("POST", 1)
    (settled,) = await world.spans("settle", 1)
    assert (created.place[0], created.parent) == (TRACE, CALLER)
    assert (attempt.place[0], attempt.parent) == created.place
    assert attempt.links == [created.place]
    assert settled.links == [attempt.place]
    assert settled.parent == ""
    assert [span.message.kind for span in (created, attempt, settled)] == [4, 3, 1]
    assert sent(world) == [f"00-{TRACE}-{attempt.place[1]}-01"]
    assert sent(world, "tracestate") == ["shop=1"]
    guid, event_id = answer.json()["id"], answer.json()["event_id"]
    assert created.attributes == {
        "messaging.system": "tocsin",
        "messaging.operation.name": "create",
        "messaging.operation.type": "create",
        "messaging.destination.name": "push",
        "messaging.message.id": guid,
        "messaging.message.body.size": 2,
        "tocsin.event.id": event_id,
        "tocsin.deliveries": 1,
    }
    (delivery,) = world.harness.deliveries()
    assert attempt.attributes == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "server.address": "ci.example",
        "server.port": 8443,
        "url.full": "https://ci.example:8443/REDACTED",
        "network.protocol.version": "1.1",
        "network.peer.address": "192.0.2.1",
        "messaging.system": "tocsin",
        "messaging.destination.name": "push",
        "messaging.message.id": guid,
        "tocsin.event.id": event_id,
        "tocsin.event.age": 0.0,
        "tocsin.hook.id": hook_id,
        "tocsin.delivery.id": delivery["id"],
        "tocsin.attempt.number": 1,
    }
    assert settled.attributes["messaging.batch.message_count"] == 1


async def test_the_stored_place_is_the_span_of_accepting(world: World) -> None:
    options = {"format": "cloudevents_binary"}
    world.harness.hook(options=options)
    world.harness.hook("https://closed.example/", options=options | {"propagate": "never"})
    await world.post(traceparent=PARENT)
    (created,) = await world.spans("create", 1)
    first, second = await world.spans("POST", 2)
    assert {first.parent, second.parent} == {created.place[1]}
    (closed,) = world.harness.network.to("closed.example")
    assert not [name for name in closed.headers if "trace" in name]
    (opened,) = [post for post in world.harness.network.posts if post is not closed]
    assert opened.headers["ce-traceparent"] == f"00-{TRACE}-{created.place[1]}-01"
    assert opened.headers["traceparent"].split("-")[2] in {first.place[1], second.place[1]}


async def test_an_event_without_a_trace_begins_one(world: World) -> None:
    world.harness.hook()
    await world.post()
    (created,) = await world.spans("create", 1)
    (attempt,) = await world.spans("POST", 1)
    assert created.parent == ""
    assert (attempt.place[0], attempt.parent) == created.place
    # The second flag says that the trace id is random.
    assert sent(world) == [f"00-{attempt.place[0]}-{attempt.place[1]}-03"]


async def test_a_late_attempt_has_a_trace_of_its_own(world: World) -> None:
    answers = iter([said(503), said(200)])
    world.harness.network.script = lambda post: next(answers)
    hook_id = world.harness.hook(options={"retries": [0, 300]})
    await world.post(traceparent=PARENT)
    await world.harness.recorded(hook_id, 1)
    await world.harness.pass_time(301)
    await world.harness.recorded(hook_id, 2)
    first, second = await world.spans("POST", 2)
    (created,) = world.collector.spans("create")
    assert (first.failed, first.attributes["error.type"]) == (True, "503")
    assert not second.failed
    assert second.parent == ""
    assert second.place[0] != TRACE
    assert second.links == [created.place]
    assert second.attributes["http.request.resend_count"] == 1
    assert second.attributes["tocsin.event.age"] == 301
    assert sent(world)[1] is not None
    assert sent(world, "tracestate") == [None, None]


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_TRACES_SAMPLER": "always_off"},
        {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"},
        {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"},
    ],
    ids=lambda variables: variables["OTEL_TRACES_SAMPLER"],
)
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (lambda: said(500), "500"),
        (lambda: said(error="connect: Connection refused at 10.0.0.1"), "connect"),
    ],
    ids=["status", "error"],
)
async def test_a_failed_attempt_is_exported_past_the_sampler(
    url: str,
    tmp_path: Path,
    collector: OTLPReceiver,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    answer: Callable[[], Any],
    kind: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    async with running(url, tmp_path, collector) as world:
        answers = iter([said(200), answer(), said(200)])
        world.harness.network.script = lambda post: next(answers)
        hook_id = world.harness.hook(options={"retries": [0, 0]})
        await world.post()
        await world.harness.recorded(hook_id, 1)
        await world.post()
        await world.harness.recorded(hook_id, 3)
    # The shutdown exports the remaining spans.
    (failed,) = collector.spans("POST")
    assert failed.failed
    assert failed.attributes["error.type"] == kind
    assert "10.0.0.1" not in str(failed.message)
    (settled,) = collector.spans("settle")
    assert failed.place in settled.links
    assert collector.spans("create") == []
    flags = [str(place)[-2:] for place in sent(world)]
    assert flags == ["02", "02", "02"], "the flags tell receivers that nothing is sampled"
    assert failed.place[1] == str(sent(world)[1]).split("-")[2]


async def test_a_sampled_event_is_sampled_with_all_its_attempts(
    url: str, tmp_path: Path, collector: OTLPReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sampling decision for an event also applies to attempts in separate traces."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    async with running(url, tmp_path, collector) as world:
        answers = iter([said(503), said(200), said(200)])
        world.harness.network.script = lambda post: next(answers)
        hook_id = world.harness.hook(options={"retries": [0, 300]})
        await world.post(traceparent=PARENT)
        await world.harness.recorded(hook_id, 1)
        await world.harness.pass_time(301)
        await world.harness.recorded(hook_id, 2)
        await world.post(traceparent=PARENT.removesuffix("1") + "0")
        await world.harness.recorded(hook_id, 3)
    assert [span.failed for span in collector.spans("POST")] == [True, False]
    assert len(collector.spans("create")) == 1


@pytest.mark.parametrize("fails", [False, True], ids=["delivered", "one fails"])
async def test_a_request_with_several_events_is_one_span(
    url: str,
    tmp_path: Path,
    collector: OTLPReceiver,
    monkeypatch: pytest.MonkeyPatch,
    fails: bool,
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    async with running(url, tmp_path, collector) as world:
        batch = {"max_events": 3, "max_wait": 60}
        hook_id = world.harness.hook(options={"batch": batch, "retries": [0]})
        named = orjson.dumps({"failed": ["two"] if fails else []})
        world.harness.network.script = lambda post: said(200, body=named)
        await world.post(**{"x-github-delivery": "one"})
        await world.post(**{"x-github-delivery": "two"})
        sampled = {} if fails else {"traceparent": PARENT}
        await world.post(**{"x-github-delivery": "three"}, **sampled)
        await world.harness.recorded(hook_id, 3)
    (attempt,) = collector.spans("POST")
    (settled,) = collector.spans("settle")
    (post,) = world.harness.network.posts
    assert attempt.parent == ""
    inner = [one["traceparent"] for one in orjson.loads(post.body)]
    assert sorted(attempt.links) == sorted((one[3:35], one[36:52]) for one in inner)
    assert post.headers["traceparent"][3:52] == "-".join(attempt.place)
    assert settled.links == [attempt.place]
    assert attempt.attributes["messaging.batch.message_count"] == 3
    assert attempt.attributes["tocsin.hook.id"] == hook_id
    assert attempt.attributes.get("error.type") == ("batch" if fails else None)


async def test_a_pull_hook_gets_the_place_of_the_event(world: World) -> None:
    store, hook_id = world.harness.store, world.harness.hook("pull:ci")
    await world.post(traceparent=PARENT)
    (created,) = await world.spans("create", 1)
    row = store.read_sync(hooks.by_id, hook_id)
    assert row is not None
    queue = FetchQueue(WorkerSettings())
    (fetched,) = store.write_sync(queue.fetch, row, Fetch("tests", 10))
    assert fetched.headers["traceparent"] == f"00-{TRACE}-{created.place[1]}-01"
    store.write_sync(queue.acknowledge, row, [Acknowledgement(fetched.lease_id)])
    assert world.collector.spans("fetch") == []


async def test_an_attempt_of_a_pull_hook_is_a_span(
    url: str, tmp_path: Path, collector: OTLPReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    async with running(url, tmp_path, collector) as world:
        store, hook_id = world.harness.store, world.harness.hook("pull:ci")
        await world.post(traceparent=PARENT)
        await world.post()
        row = store.read_sync(hooks.by_id, hook_id)
        assert row is not None
        queue = FetchQueue(WorkerSettings(), world.tracer)
        first, second = store.write_sync(queue.fetch, row, Fetch("tests", 10))
        store.write_sync(queue.acknowledge, row, [Acknowledgement(first.lease_id, duration=HOUR)])
        store.write_sync(queue.reject, row, [Rejection(second.lease_id, "no disk")])
    (created,) = collector.spans("create push")
    # The sampler drops the second event, but a failed attempt is always exported.
    delivered, failed = collector.spans("fetch")
    assert delivered.parent == created.place[1]
    assert delivered.links == [created.place]
    assert delivered.attributes["tocsin.hook.id"] == hook_id
    assert delivered.attributes["tocsin.attempt.number"] == 1
    # It ends with the answer, however long the receiver says that its work took.
    span = delivered.message
    assert span.end_time_unix_nano - span.start_time_unix_nano < HOUR * 1000
    assert failed.attributes["error.type"] == "other"
    assert "no disk" not in str(failed.message)


async def test_a_batch_is_one_span(world: World) -> None:
    world.harness.hook()
    other = f"00-{'1' * 32}-{'2' * 16}-01"
    line = {"event": "push", "repository": "ada/engine", "payload": {}}
    lines = [line, line | {"traceparent": other}]
    content = b"\n".join(map(orjson.dumps, lines))
    headers = {"content-type": "application/x-ndjson", "traceparent": PARENT}
    answer = await world.client.post("/events", content=content, headers=headers)
    assert answer.status_code == 202, answer.text
    (created,) = await world.spans("create push", 1)
    attempts = await world.spans("POST", 2)
    assert created.parent == CALLER
    assert created.links == [("1" * 32, "2" * 16)]
    assert created.attributes["messaging.batch.message_count"] == 2
    assert created.attributes["tocsin.deliveries"] == 2
    assert {span.parent for span in attempts} == {created.place[1], "2" * 16}


async def test_a_rejected_event_is_a_failed_span(world: World) -> None:
    await world.post({"ref": 1}, **{"x-github-delivery": "one"})
    content, headers = b'{"ref": 2}', {"x-github-delivery": "one"}
    answer = await world.client.post(PUSH, content=content, headers=headers)
    assert answer.status_code == 409
    first, second = await world.spans("create", 2)
    failed = first if first.failed else second
    assert failed.attributes["error.type"] == "Conflict"
    assert failed.attributes["messaging.message.id"] == "one"


async def test_the_resource_names_the_program(
    url: str, tmp_path: Path, collector: OTLPReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    async with running(url, tmp_path, collector) as world:
        await world.post()
    (created,) = collector.spans("create")
    assert created.resource["service.name"] == "tocsin"
    assert created.resource["deployment.environment.name"] == "test"
    assert created.resource["service.instance.id"]
