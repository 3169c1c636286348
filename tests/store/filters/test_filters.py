"""Filters: what each operator accepts, arrays, missing paths, limits, and the dry run."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.filters import operators
from store.filters.conditions import FilterError
from store.filters.document import document_of
from store.filters.dry_run import TOGETHER, dry_run
from store.filters.operators import OPERATORS
from store.filters.payload_filter import PayloadFilter, check, load

LABELS = {"labels": [{"name": "bug", "color": "red"}, {"name": "wip", "color": "blue"}]}


def matches(condition: Any, payload: Any) -> bool:
    return PayloadFilter({"payload": condition}).matches(document_of("push", None, payload))


@pytest.mark.parametrize(
    ("condition", "payload", "expected"),
    [
        # Bare values, strict types.
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": False}, {"a": 0}, False),
        ({"a": "1"}, {"a": 1}, False),
        ({"a": None}, {"a": None}, True),
        ({"a": None}, {}, False),
        ({"a": {"$eq": {"b": [1, True]}}}, {"a": {"b": [1, True]}}, True),
        ({"a": {"$eq": {"b": [1, True]}}}, {"a": {"b": [1, 1]}}, False),
        ({"a": {"$eq": {"b": 1}}}, {"a": {"b": 1, "c": 2}}, False),
        ({"a": {"$eq": [1, 2]}}, {"a": [1, 2]}, True),
        ({"a": {"$eq": [1, 2]}}, {"a": [1, 2, 3]}, False),
        # A negation holds if the path is missing.
        ({"a": {"$ne": 1}}, {}, True),
        ({"a": {"$neq": 1}}, {"a": 1}, False),
        ({"a": {"$nin": [1, "x"]}}, {}, True),
        ({"a": {"$nin": [1, "x"]}}, {"a": "x"}, False),
        ({"a": {"$not": {"$gt": 3}}}, {}, True),
        ({"a": {"$exists": False}}, {}, True),
        ({"a": {"$exist": False}}, {"a": None}, False),
        ({"a": {"b": {"$exists": False}}}, {}, True),
        ({"a": {"b": {"$exists": False}}}, {"a": "text"}, True),
        ({"a": {"$exists": True}}, {"a": []}, True),
        ({"a": {"$exists": True}}, {}, False),
        # Lists of values.
        ({"a": {"$in": ["x", "y"]}}, {"a": "y"}, True),
        ({"a": {"$in": ["x", "y"]}}, {"a": "xy"}, False),
        ({"a": {"$in": [1, None]}}, {"a": None}, True),
        ({"a": {"$in": [1]}}, {"a": True}, False),
        ({"a": {"$in": ["x"]}}, {"a": {}}, False),
        # Comparisons never mix types.
        ({"a": {"$gt": 3, "$lt": 5}}, {"a": 4}, True),
        ({"a": {"$gte": 4}}, {"a": 4}, True),
        ({"a": {"$lte": 3}}, {"a": 4}, False),
        ({"a": {"$gt": 0}}, {"a": True}, False),
        ({"a": {"$gt": 0}}, {"a": "1"}, False),
        ({"a": {"$gt": "2026-01"}}, {"a": "2026-11-21"}, True),
        ({"a": {"$lt": 0}}, {}, False),
        # Texts.
        ({"a": {"$startsWith": "refs/tags/"}}, {"a": "refs/tags/v1"}, True),
        ({"a": {"$endsWith": "/main"}}, {"a": "refs/heads/main"}, True),
        ({"a": {"$contains": "eads"}}, {"a": "refs/heads/main"}, True),
        ({"a": {"$contains": "1"}}, {"a": 1}, False),
        # Arrays: a condition needs a matching element. Its negation needs an array without one.
        ({"a": "x"}, {"a": ["y", "x"]}, True),
        ({"a": {"$ne": "x"}}, {"a": ["y", "x"]}, False),
        ({"a": {"$ne": "x"}}, {"a": []}, True),
        ({"labels": {"name": "wip"}}, LABELS, True),
        ({"labels": {"name": {"$ne": "wip"}}}, LABELS, False),
        ({"labels": {"$not": {"name": "wip"}}}, LABELS, False),
        ({"labels": {"name": {"$ne": "new"}}}, LABELS, True),
        ({"labels": {"name": {"$ne": "new"}}}, {"labels": []}, True),
        ({"labels": {"name": "bug", "color": "red"}}, LABELS, True),
        ({"labels": {"name": "bug", "color": "blue"}}, LABELS, False),
        ({"labels": {"$and": [{"name": "bug"}, {"color": "red"}]}}, LABELS, True),
        ({"labels": {"name": {"$exists": True}}}, {"labels": []}, False),
        ({"a": {"$gt": 3, "$lt": 5}}, {"a": [1, 9]}, False),
        ({"a": {"$gt": 3, "$lt": 5}}, {"a": [1, 4]}, True),
        # Branches.
        ({"$or": [{"a": 1}, {"b": 2}]}, {"b": 2}, True),
        ({"$or": [{"a": 1}, {"b": 2}]}, {"b": 3}, False),
        ({"$and": [{"a": 1}, {"b": 2}]}, {"a": 1}, False),
        ({"$not": {"a": 1, "b": 2}}, {"a": 1, "b": 3}, True),
        ({"a": {"$or": [{"$eq": 1}, {"$startsWith": "x"}]}}, {"a": "xy"}, True),
    ],
)
def test_each_operator_compares(condition: Any, payload: Any, expected: bool) -> None:
    assert matches(condition, payload) is expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("refs/heads/*", "refs/heads/main", True),
        ("refs/heads/*", "refs/tags/main", False),
        ("*", "", True),
        ("a?c", "abc", True),
        ("a?c", "abcd", False),
        ("a?c", "ac", False),
        ("*.py", "x.py.py", True),
        ("a*b*c", "a1b2c", True),
        ("a*b*c", "a1c2b", False),
        ("ab*ba", "aba", False),
        ("*a?c*", "xxabcxx", True),
        ("*a?", "xab", True),
        ("?*?", "x", False),
        ("a.c", "abc", False),
        ("*\n*", "a\nb", True),
        ("a*", 1, False),
    ],
)
def test_glob_patterns_match(pattern: str, text: Any, expected: bool) -> None:
    assert matches({"a": {"$glob": pattern}}, {"a": text}) is expected


@given(st.text("ab*?", min_size=1, max_size=8), st.text("ab", max_size=10))
def test_globs_agree_with_a_search_that_tries_everything(pattern: str, text: str) -> None:
    assert matches({"a": {"$glob": pattern}}, {"a": text}) is brute(pattern, text)


def brute(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(brute(pattern[1:], text[at:]) for at in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and brute(pattern[1:], text[1:])


def test_the_events_name_and_action() -> None:
    found = document_of("issues", "opened", {})
    assert PayloadFilter({"event": "issues", "action": {"$in": ["opened"]}}).matches(found)
    assert not PayloadFilter({"action": "closed"}).matches(found)
    assert PayloadFilter({"action": {"$exists": False}}).matches(document_of("push", None, {}))


def test_a_payload_may_have_other_systems_names() -> None:
    for name in ("payload", "body", "data"):
        filter_ = PayloadFilter({"$or": [{name: {"ref": "x"}}]})
        assert filter_.matches(document_of("push", None, {"ref": "x"}))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "a filter is an object"),
        ({}, "the condition is empty"),
        ({"ref": "x"}, "ref: a filter begins with event, action, payload"),
        ({"$or": [{"ref": "x"}]}, "$or.0.ref: a filter begins with"),
        ({"payload": {}}, "payload: the condition is empty"),
        ({"payload": {"a": ["x"]}}, "payload.a: a list is no condition"),
        ({"payload": {"a": {"$regex": "x"}}}, "payload.a.$regex: unknown operator"),
        ({"payload": {"a": {"$in": "x"}}}, "payload.a.$in: a list with at least one value"),
        ({"payload": {"a": {"$in": []}}}, "payload.a.$in: a list with at least one value"),
        ({"payload": {"a": {"$gt": True}}}, "payload.a.$gt: a number or a text"),
        ({"payload": {"a": {"$exists": 1}}}, "payload.a.$exists: true or false"),
        ({"payload": {"a": {"$startsWith": ""}}}, "a text with at least one character"),
        ({"payload": {"a": {"$glob": 1}}}, "payload.a.$glob: a text"),
        ({"$or": {}}, "$or: a list of conditions"),
        ({"payload": {"$or": ["x"]}}, "payload.$or.0: a condition is an object"),
        ({"$not": "x"}, "$not: a condition is an object"),
        ({"body": {"a": 1}, "payload": {"a": 1}}, "'payload' is given twice"),
        ({"payload": {"a": {"$in": list(range(257))}}}, "257 terms; 256 are allowed"),
        ({"payload": {"a": "x" * 8192}}, "bytes; 8192 are allowed"),
        ({"payload": {"a": 2**70}}, "not JSON"),
    ],
)
def test_bad_filters_name_the_place(source: Any, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        PayloadFilter(source)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [{"payload": {"a\0": 1}}, {"$or": [{"payload": {"a": {"$not": {"b\0": 1}}}}]}],
)
def test_a_member_name_with_a_nul_is_refused_unless_it_is_stored(source: Any) -> None:
    with pytest.raises(FilterError, match="the name of a member must not hold a NUL"):
        check(source)
    assert load(orjson.dumps(source).decode()) is not None


def test_depth_is_bounded() -> None:
    def nested(depth: int) -> Any:
        return {"payload": "x"} if depth == 1 else {"$and": [nested(depth - 1)]}

    PayloadFilter(nested(8))
    with pytest.raises(FilterError, match="deeper than 16 levels"):
        PayloadFilter(nested(9))
    with pytest.raises(FilterError, match="deeper"):
        PayloadFilter(nested(400))


def test_a_stored_filter_of_another_version_is_none() -> None:
    assert load('{"payload":{"a":{"$future":1}}}') is None
    known = load('{"payload":{"a":1}}')
    assert known is load('{"payload":{"a":1}}')


class TestDryRun:
    def test_the_conditions_that_hold_and_that_fail(self) -> None:
        filter_ = PayloadFilter(
            {"payload": {"ref": {"$startsWith": "refs/tags/"}, "sender": {"type": "User"}}}
        )
        document = document_of("push", None, {"ref": "refs/heads/x", "sender": {"type": "User"}})
        found = dry_run(filter_, document)
        assert not found.matches
        (failed,) = found.failed
        assert (failed.path, failed.operator) == ("payload.ref", "$startsWith")
        assert (failed.expected, failed.found) == ("refs/tags/", ["refs/heads/x"])
        assert [one.path for one in found.matched] == ["payload.sender.type"]
        said = 'filter: payload.ref does not satisfy $startsWith "refs/tags/"'
        assert filter_.reason(document) == said

    def test_a_missing_path_has_no_values(self) -> None:
        found = dry_run(PayloadFilter({"payload": {"a": {"b": 1}}}), document_of("push", None, {}))
        assert [(one.path, one.found) for one in found.failed] == [("payload.a.b", [])]

    def test_values_in_arrays_are_shown_and_long_ones_cut(self) -> None:
        payload = {"a": [{"b": "x" * 500}, {"b": 2}]}
        found = dry_run(
            PayloadFilter({"payload": {"a": {"b": 2}}}), document_of("e", None, payload)
        )
        cut, other = found.matched[0].found
        assert (len(cut), other) == (203, 2)

    def test_each_branch_of_or_is_tried(self) -> None:
        filter_ = PayloadFilter({"$or": [{"event": "push"}, {"payload": {"a": 1, "b": 2}}]})
        good = dry_run(filter_, document_of("push", None, {}))
        assert ([one.path for one in good.matched], good.failed) == (["event"], [])
        bad = dry_run(filter_, document_of("star", None, {"a": 1}))
        assert [one.path for one in bad.failed] == ["event", "payload.b"]
        assert [one.path for one in bad.matched] == ["payload.a"]

    @pytest.mark.parametrize("depth", [300, 1000])
    def test_a_deep_value_is_shown_as_text(self, depth: int) -> None:
        payload = {"a": orjson.loads(b"[" * depth + b"]" * depth)}
        found = dry_run(PayloadFilter({"payload": {"a": 1}}), document_of("push", None, payload))
        (failed,) = found.failed
        assert isinstance(failed.found[0], str)

    def test_conditions_must_hold_for_one_element_together(self) -> None:
        filter_ = PayloadFilter({"payload": {"labels": {"name": "bug", "color": "blue"}}})
        document = document_of("issues", None, LABELS)
        found = dry_run(filter_, document)
        assert not found.matches
        assert [one.operator for one in found.failed] == [TOGETHER]
        assert "one element" in filter_.reason(document)


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "ab", "b"])
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
CONDITIONS = st.recursive(
    st.fixed_dictionaries({"$eq": JSON})
    | st.fixed_dictionaries({"$in": st.lists(SCALARS, min_size=1, max_size=3)})
    | st.fixed_dictionaries({"$gt": st.integers(-2, 2)})
    | st.fixed_dictionaries({"$contains": st.sampled_from(["a", "b"])})
    | st.fixed_dictionaries({"$exists": st.booleans()}),
    lambda inner: (
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=2)
        | st.fixed_dictionaries({"$or": st.lists(inner, min_size=1, max_size=2)})
        | st.fixed_dictionaries({"$and": st.lists(inner, min_size=1, max_size=2)})
        | st.fixed_dictionaries({"$not": inner})
    ),
    max_leaves=5,
)


@given(CONDITIONS, JSON)
def test_a_negation_is_the_opposite_and_the_dry_run_agrees(condition: Any, payload: Any) -> None:
    document = document_of("push", None, payload)
    filter_ = PayloadFilter({"payload": condition})
    assert PayloadFilter({"$not": {"payload": condition}}).matches(document) is not (
        filter_.matches(document)
    )
    found = dry_run(filter_, document)
    assert found.matches is filter_.matches(document) is not bool(found.failed)


@given(CONDITIONS, JSON)
def test_no_payload_raises_an_error(condition: Any, payload: Any) -> None:
    assert matches(condition, payload) in (True, False)


@pytest.mark.parametrize(
    ("condition", "weight"),
    [
        ({"a": 1, "b": {"$gt": 1, "$lt": 3}}, 3),
        ({"a": {"$in": ["x", "y", "z"]}}, 1),
        ({"a": {"$in": ["x", 1, 2]}}, 3),
        ({"$or": [{"a": 1}, {"b": {"$not": {"c": 2}}}]}, 2),
        ({"a": {"$glob": "refs/*"}}, 1),
        ({"a": {"$glob": "?" * 50}}, 50),
        ({"$or": [{"$not": {"$or": [{"a": 1}, {"b": 2}]}}, {"c": 3}]}, 3),
        ({"a": {"$or": [{"$or": [{"b": 1}, {"b": 2}]}, {"c": {"$not": {"d": 3}}}]}}, 4 + 2),
        ({"a": {"$and": [{"$not": {"b": 1}}, {"$not": {"c": 1}}]}}, 2),
    ],
)
def test_a_filter_has_a_weight(condition: Any, weight: int) -> None:
    filter_ = PayloadFilter({"payload": condition})
    assert filter_.weight == weight
    assert not filter_.is_too_slow(16_000_000 // weight)
    assert filter_.is_too_slow(16_000_000 // weight + 1)


@pytest.mark.parametrize("levels", range(1, 7))
def test_the_weight_bounds_the_checks_of_nested_arrays(
    monkeypatch: pytest.MonkeyPatch, levels: int
) -> None:
    """Each `$or` looks at an array and into it, so several look into arrays of arrays."""
    compared: list[Any] = []
    monkeypatch.setattr(operators, "equal", lambda one, other: compared.append(other))
    condition: Any = {"$eq": [1]}
    value: Any = list(range(100))
    for level in range(levels):
        condition = {"$or": [condition]}
        value = [value] if level % 2 else value
    filter_ = PayloadFilter({"payload": {"a": condition}})
    assert not filter_.conditions_hold(document_of("push", None, {"a": value}))
    assert len(compared) <= 4 * filter_.weight * len(range(100))


def test_all_operators_are_known_by_name() -> None:
    assert len(set(OPERATORS)) == 16
