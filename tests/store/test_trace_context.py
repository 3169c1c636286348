"""Trace context: which headers are valid, and which are ignored."""

import pytest

from store import trace_context
from store.trace_context import MOST, TraceContext

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


def test_a_traceparent_is_split_into_its_parts() -> None:
    found = trace_context.parse([PARENT], [])
    assert found == TraceContext(PARENT)
    assert (f"{found.trace_id:032x}", f"{found.span_id:016x}", found.flags) == (TRACE, SPAN, 1)
    assert found.lines() == f"traceparent: {PARENT}\r\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        PARENT.upper(),
        PARENT[:-1],
        f"{PARENT}-00",
        f"ff{PARENT[2:]}",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-0g",
        f"00-{TRACE}-{SPAN}-01\r\nX-Other: 1",
        f"01-{TRACE}-{SPAN}-01{'-x' * MOST}",
        f"01-{TRACE}-{SPAN}-01x",
        "00-\u0664" + PARENT[4:],
    ],
)
def test_an_invalid_parent_is_ignored(text: str) -> None:
    assert trace_context.parse([text], ["a=1"]) is None


def test_two_parents_are_none() -> None:
    assert trace_context.parse([PARENT, PARENT], []) is None


def test_a_later_version_is_passed_on_as_this_one() -> None:
    found = trace_context.parse([f"01-{TRACE}-{SPAN}-ff-more"], [])
    assert found == TraceContext(PARENT)
    assert trace_context.parse([f"01-{TRACE}-{SPAN}-02"], []) == TraceContext(f"{PARENT[:-1]}0")


@pytest.mark.parametrize(
    ("texts", "state"),
    [
        (["a=1"], "a=1"),
        (["a=1", " b=2 ,, c@d=3"], "a=1,b=2,c@d=3"),
        (["1fw529a3039@dt=FfgIA"], "1fw529a3039@dt=FfgIA"),
        ([",".join(f"k{n}=v" for n in range(32))], ",".join(f"k{n}=v" for n in range(32))),
        (["a=x y"], "a=x y"),
        ([""], ""),
        (["a"], ""),
        (["A=1"], ""),
        (["a=1,a=2"], ""),
        (["a=b=c"], ""),
        (["a=\u00e9"], ""),
        (["a=1\r\nX-Other: 1"], ""),
        ([",".join(f"k{n}=v" for n in range(33))], ""),
        ([f"a={'v' * 256}"], f"a={'v' * 256}"),
        ([f"a={'v' * 257}"], ""),
        ([f"a={'v' * 256},b={'v' * 256}"], ""),
    ],
)
def test_a_state_is_passed_on_or_left_out(texts: list[str], state: str) -> None:
    assert trace_context.parse([PARENT], texts) == TraceContext(PARENT, state)


def test_both_headers_are_written() -> None:
    lines = f"traceparent: {PARENT}\r\ntracestate: a=1\r\n"
    assert TraceContext(PARENT, "a=1").lines() == lines


def test_the_columns_of_an_event() -> None:
    assert trace_context.stored(None, None) is None
    assert trace_context.stored(PARENT, None) == TraceContext(PARENT)
    assert trace_context.stored(PARENT, "a=1") == TraceContext(PARENT, "a=1")
