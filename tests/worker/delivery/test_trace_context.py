"""The trace context of an event is passed on with each delivery, if its hook allows that."""

import orjson
import pytest
from house import House, Post, said
from waiting import until

from store.trace_context import TraceContext

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TRACE = TraceContext(PARENT, "shop=1")
HEADERS = ("traceparent", "tracestate")


def passed_on(post: Post) -> tuple[str | None, ...]:
    return tuple(post.headers.get(name) for name in HEADERS)


@pytest.mark.parametrize("trace", [None, TRACE, TraceContext(PARENT)], ids=["no", "both", "parent"])
async def test_a_new_event_and_its_retry(house: House, trace: TraceContext | None) -> None:
    expected = (None, None) if trace is None else (trace.parent, trace.state or None)
    answers = iter([said(500), said(200)])
    house.network.script = lambda post: next(answers)
    hook_id = house.hook(options={"retries": [0, 0]}, secret="s3cret")
    await house.work()
    await house.event(trace=trace)
    attempts = await house.recorded(hook_id, 2)
    assert [passed_on(post) for post in house.network.posts] == [expected, expected]
    for attempt in attempts:
        recorded = attempt["request_headers"]
        assert tuple(recorded.get(name) for name in HEADERS) == expected


async def test_an_event_from_before_the_worker_started(house: House) -> None:
    hook_id = house.hook()
    await house.event(trace=TRACE)
    await house.work()
    await house.recorded(hook_id, 1)
    assert passed_on(house.network.posts[0]) == (PARENT, "shop=1")


async def test_a_receiver_that_may_not_see_it(house: House) -> None:
    hook_id = house.hook(options={"propagate": "never", "format": "cloudevents_binary"})
    await house.work()
    await house.event(trace=TRACE)
    (attempt,) = await house.recorded(hook_id, 1)
    assert not [name for name in attempt["request_headers"] if "trace" in name]
    house.edit(hook_id, options={"propagate": "always", "format": "cloudevents_binary"})
    await house.event(trace=TRACE)
    await house.recorded(hook_id, 2)
    last = house.network.posts[-1]
    assert passed_on(last) == (PARENT, "shop=1")
    assert (last.headers["ce-traceparent"], last.headers["ce-tracestate"]) == (PARENT, "shop=1")


async def test_hooks_of_one_event_differ(house: House) -> None:
    options = {"format": "cloudevents_structured"}
    house.hook("https://open.example/", options=options)
    house.hook("https://closed.example/", options=options | {"propagate": "never"})
    await house.work()
    await house.event(trace=TRACE)
    await until(lambda: len(house.network.posts) == 2)
    (opened,), (closed,) = house.network.to("open.example"), house.network.to("closed.example")
    assert orjson.loads(opened.body)["traceparent"] == PARENT
    assert orjson.loads(opened.body)["tracestate"] == "shop=1"
    assert b"trace" not in closed.head + closed.body


async def test_an_ordered_hook_has_both_kinds_of_headers(house: House) -> None:
    options = {"ordering": "hook", "filter": {"payload": {"wanted": True}}}
    hook_id = house.hook(options=options)
    await house.work()
    await house.event(b'{"wanted": true}', trace=TRACE)
    await house.event(b'{"wanted": false}', trace=TRACE)
    await house.event(b'{"wanted": true}')
    await house.recorded(hook_id, 2)
    first, second = house.network.posts
    assert (passed_on(first), first.headers["webhook-sequence"]) == ((PARENT, "shop=1"), "1")
    assert (passed_on(second), second.headers["webhook-sequence"]) == ((None, None), "2")
    await house.over(delivered=2, filtered=1)
