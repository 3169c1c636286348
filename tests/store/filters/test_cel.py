"""Filters in CEL: results, errors, and the bounds of what an expression may cost."""

import re
import sys
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from manual import MANUAL

from store.filters import cel_library, payload_filter
from store.filters.cel_expression import TOO_MANY_ELEMENTS, CelExpression, CelResult
from store.filters.conditions import FilterError
from store.filters.document import document_of
from store.filters.dry_run import dry_run
from store.filters.payload_filter import PayloadFilter

PUSH = {
    "ref": "refs/heads/main",
    "after": "c2",
    "size": 2,
    "forced": False,
    "big": 2**63,
    "commits": [
        {"id": "c1", "message": "fix: a", "added": ["a.py"]},
        {"id": "c2", "message": "docs: b", "added": ["b.md", "c.md"]},
    ],
}


def judge(source: str, payload: Any = PUSH, action: str | None = None) -> CelResult:
    return CelExpression(source).evaluate(document_of("push", action, payload))


@pytest.mark.parametrize(
    "source",
    [
        "event == 'push' && payload.ref == 'refs/heads/main'",
        "body.ref == data.ref",
        "payload.size == 2 && payload.size == 2.0 && payload.size != true",
        "!payload.forced",
        "payload.big > 1",
        "has(payload.ref) && !has(payload.pull_request)",
        "'ref' in payload && payload['ref'].startsWith('refs/')",
        "payload.commits.exists(c, c.message.startsWith('fix'))",
        "payload.commits.exists(c, c.id == payload.after)",
        "payload.commits.exists(c, c.added.all(f, f.endsWith('.md')))",
        "payload.commits.exists_one(c, c.id == 'c1')",
        "['refs/heads/main', 'refs/heads/next'].exists(r, payload.ref == r)",
        "payload.commits[1].id == 'c2' && size(payload.commits) == 2",
        "payload.ref.matches('^refs/heads/(main|next)$')",
        "payload.missing == 1 || payload.size == 2",
        "action == null",
        "{'a': payload.size} == {'a': 2} && payload.size in [1, payload.size]",
    ],
)
def test_an_expression_holds(source: str) -> None:
    assert judge(source) == (True, None)


def test_an_action_is_a_variable() -> None:
    assert judge("action == 'opened'", {}, "opened").holds
    assert judge("action == 'opened'", {}, None) == (False, None)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("payload.missing == 1", 'Key not found in map: "missing"'),
        ("payload.ref > 1", "No matching overloads found: _>_(string, int64)"),
        ("payload.ref", "the result is string, and not true or false"),
        ("payload.commits.all(c, c.none)", 'Key not found in map: "none"'),
        ("payload.size / 0 == 1", "divide by zero"),
    ],
)
def test_an_event_without_a_result_does_not_satisfy_it(source: str, reason: str) -> None:
    assert judge(source) == (False, reason)


def test_a_number_that_cel_lacks_is_an_error() -> None:
    outcome = judge("payload.n > 1", {"n": 2**70})
    assert not outcome.holds
    assert outcome.error is not None
    assert "out of range" in outcome.error


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("", "an expression is a text"),
        (1, "an expression is a text"),
        ("1 +", "line 1, column 4: mismatched input '<EOF>'"),
        ("payload.a ==\n (1", "line 2, column 4: missing ')'"),
        ("pay.ref == 'x'", "line 1, column 4: undeclared reference to 'pay.ref'"),
        ("payload.size + 1 > 'x'", "line 1, column 18: found no matching overload"),
        ("'yes'", "the result is string"),
        ("true" + " " * 2048, "the expression has 2052 characters; 2048 are allowed"),
        ("(" * 40 + "true" + ")" * 40, "nested too deeply"),
        ("payload.c.map(c, c.id) == []", "line 1, column 14: the macro map is not allowed"),
        ("payload.c.filter(c, c.id == 1) == []", "the macro filter is not allowed"),
        ("payload.ref.matches(payload.p)", "must be a text in quotes"),
        ("payload.ref.matches('a{1,9}')", r"must not contain { or \p"),
        (r"payload.ref.matches('\\pL')", r"must not contain { or \p"),
        ("payload.ref.matches('(')", "missing )"),
        ("payload.c.exists(c, payload.s.contains(c))", "line 1, column 21: a macro sees its own"),
        ("payload.c.exists(c, payload == payload)", "line 1, column 21: a macro sees its own"),
        ("payload.c.exists(c, payload.d.exists(d, true))", "a macro sees its own"),
        ("payload.c.exists(c, c.d.exists(d, d in c.e))", "a macro sees its own"),
        ("(payload.a + payload.a).exists(a, a == 1)", "a macro needs a member"),
        ("[payload, payload].exists(a, a == 1)", "a macro needs a member"),
        ("true || \n  payload.c.exists(c, c in payload.d)", "line 2, column 28"),
    ],
)
def test_an_unusable_expression_is_refused(source: Any, reason: str) -> None:
    with pytest.raises(FilterError) as raised:
        CelExpression(source)
    assert raised.value.path == "cel"
    assert reason in raised.value.reason


def test_an_expression_stands_beside_conditions() -> None:
    filter_ = PayloadFilter({"event": "push", "cel": "payload.size > 1"})
    assert filter_.matches(document_of("push", None, PUSH))
    assert not filter_.matches(document_of("star", None, PUSH))
    assert not filter_.matches(document_of("push", None, {"size": 1}))
    assert filter_.reason(document_of("push", None, {})) == (
        'filter: the CEL expression has no result: Key not found in map: "size"'
    )
    assert filter_.reason(document_of("push", None, {"size": 1})) == (
        "filter: the CEL expression is false"
    )
    assert filter_.reason(document_of("star", None, {})) == (
        'filter: event does not satisfy $eq "push"'
    )


def test_an_expression_does_not_stand_within_conditions() -> None:
    with pytest.raises(FilterError, match="stands beside"):
        PayloadFilter({"$or": [{"cel": "true"}]})


def test_a_dry_run_names_the_result_and_the_error() -> None:
    filter_ = PayloadFilter({"event": "push", "cel": "payload.size > 1"})
    good = dry_run(filter_, document_of("push", None, PUSH))
    assert good.matches
    assert [(one.operator, one.found, one.error) for one in good.matched] == [
        ("$eq", ["push"], None),
        ("cel", [True], None),
    ]
    bad = dry_run(filter_, document_of("push", None, {}))
    assert [(one.operator, one.found, one.error) for one in bad.failed] == [
        ("cel", [], 'Key not found in map: "size"')
    ]


def test_too_many_elements_do_not_hold_up_the_others() -> None:
    payload = {"l": list(range(20_000))}
    assert judge("payload.l.exists(e, e == -1)", payload) == (True, TOO_MANY_ELEMENTS)


def test_a_weight_counts_each_look_at_the_payload() -> None:
    assert PayloadFilter({"cel": "payload.a == 1 && payload.b"}).weight == 4
    assert PayloadFilter({"cel": "[1, 2, 3].exists(n, n == payload.a)"}).weight == 1 + 3 * 3
    assert PayloadFilter({"cel": "payload.a.matches('abcd')"}).weight == 1 + 4
    assert PayloadFilter({"event": "push", "cel": "payload.b"}).weight == 2


def test_an_event_is_made_variables_once(monkeypatch: pytest.MonkeyPatch) -> None:
    document = document_of("push", None, PUSH)
    assert CelExpression("payload.size == 2").evaluate(document).holds
    monkeypatch.setattr(cel_library, "environment", lambda: pytest.fail("made again"))
    assert document.cel_variables is document.cel_variables


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    cel_library.environment.cache_clear()
    yield
    cel_library.environment.cache_clear()


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_an_expression_is_rejected_and_a_stored_one_delivers() -> None:
    source = {"cel": "payload.stored == 'before the extra was removed'"}
    with pytest.raises(cel_library.MissingExtra, match=r"install tocsin\[cel\]"):
        PayloadFilter(source)
    stored = orjson.dumps(source).decode()
    assert payload_filter.load(stored) is None
    assert "needs the extra cel" in (payload_filter.problem(stored) or "")
    assert PayloadFilter({"event": "push"}).matches(document_of("push", None, {}))


def test_the_manuals_expressions_can_be_used() -> None:
    page = (MANUAL / "how-to" / "filter-events.md").read_text()
    (text,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    for line in text.splitlines():
        CelExpression(line)
