"""Each delivery passes on the trace context of its event, if its hook allows that."""

import orjson
import pytest
from waiting import until
from worker_harness import Post, WorkerHarness, said

from store.trace_context import TraceContext

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TRACE = TraceContext(PARENT, "shop=1")
HEADERS = ("traceparent", "tracestate")


def passed_on(post: Post) -> tuple[str | None, ...]:
    return tuple(post.headers.get(name) for name in HEADERS)


@pytest.mark.parametrize("trace", [None, TRACE, TraceContext(PARENT)], ids=["no", "both", "parent"])
async def test_a_retry_has_the_trace_of_its_event(
    harness: WorkerHarness, trace: TraceContext | None
) -> None:
    expected = (None, None) if trace is None else (trace.parent, trace.state or None)
    answers = iter([said(500), said(200)])
    harness.network.script = lambda post: next(answers)
    hook_id = harness.hook(options={"retries": [0, 0]}, secret="s3cret")
    await harness.work()
    await harness.event(trace=trace)
    attempts = await harness.recorded(hook_id, 2)
    assert [passed_on(post) for post in harness.network.posts] == [expected, expected]
    for attempt in attempts:
        recorded = attempt["request_headers"]
        assert tuple(recorded.get(name) for name in HEADERS) == expected


async def test_an_event_from_before_the_start_keeps_its_trace(harness: WorkerHarness) -> None:
    hook_id = harness.hook()
    await harness.event(trace=TRACE)
    await harness.work()
    await harness.recorded(hook_id, 1)
    assert passed_on(harness.network.posts[0]) == (PARENT, "shop=1")


async def test_a_hook_can_keep_the_trace_from_its_receiver(harness: WorkerHarness) -> None:
    hook_id = harness.hook(options={"propagate": "never", "format": "cloudevents_binary"})
    await harness.work()
    await harness.event(trace=TRACE)
    (attempt,) = await harness.recorded(hook_id, 1)
    assert not [name for name in attempt["request_headers"] if "trace" in name]
    harness.edit(hook_id, options={"propagate": "always", "format": "cloudevents_binary"})
    await harness.event(trace=TRACE)
    await harness.recorded(hook_id, 2)
    last = harness.network.posts[-1]
    assert passed_on(last) == (PARENT, "shop=1")
    assert (last.headers["ce-traceparent"], last.headers["ce-tracestate"]) == (PARENT, "shop=1")


async def test_hooks_of_one_event_differ(harness: WorkerHarness) -> None:
    options = {"format": "cloudevents_structured"}
    harness.hook("https://open.example/", options=options)
    harness.hook("https://closed.example/", options=options | {"propagate": "never"})
    await harness.work()
    await harness.event(trace=TRACE)
    await until(lambda: len(harness.network.posts) == 2)
    (opened,), (closed,) = harness.network.to("open.example"), harness.network.to("closed.example")
    assert orjson.loads(opened.body)["traceparent"] == PARENT
    assert orjson.loads(opened.body)["tracestate"] == "shop=1"
    assert b"trace" not in closed.head + closed.body


async def test_an_ordered_hook_has_both_kinds_of_headers(harness: WorkerHarness) -> None:
    options = {"ordering": "hook", "filter": {"payload": {"wanted": True}}}
    hook_id = harness.hook(options=options)
    await harness.work()
    await harness.event(b'{"wanted": true}', trace=TRACE)
    await harness.event(b'{"wanted": false}', trace=TRACE)
    await harness.event(b'{"wanted": true}')
    await harness.recorded(hook_id, 2)
    first, second = harness.network.posts
    assert (passed_on(first), first.headers["webhook-sequence"]) == ((PARENT, "shop=1"), "1")
    assert (passed_on(second), second.headers["webhook-sequence"]) == ((None, None), "2")
    await harness.over(delivered=2, filtered=1)
