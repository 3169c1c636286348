"""The dry run of a filter: which of its conditions a document satisfies, and which not."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from store.filters.cel_expression import CelExpression
from store.filters.document import EventDocument
from store.filters.payload_filter import CEL, PayloadFilter, found_at
from store.filters.terms import Term

MOST_VALUES, MOST_TEXT = 10, 200
TOGETHER = "together"
"""In place of an operator: the conditions hold, but not for the same element of an array."""


@dataclass(frozen=True, slots=True)
class TermResult:
    """A condition of a filter and the values found at its path: none if the path is missing.

    An expression in CEL has no path, and its own result in place of the values.
    """

    path: str
    operator: str
    expected: Any
    found: list[Any]
    error: str | None = None
    """Why an expression has no result."""


@dataclass(slots=True)
class DryRun:
    """The verdict of a filter, with the conditions that hold and those that made it fail."""

    matches: bool
    matched: list[TermResult] = field(default_factory=list)
    failed: list[TermResult] = field(default_factory=list)


def dry_run(filter_: PayloadFilter, document: EventDocument) -> DryRun:
    """Judge an event, and say why."""
    found = DryRun(filter_.matches(document))
    _evaluate(found, filter_.terms, document)
    if not filter_.conditions_hold(document) and not found.failed:
        found.failed.append(TermResult("", TOGETHER, None, []))
    if filter_.cel is not None:
        _evaluate_expression(found, filter_.cel, document)
    return found


def _evaluate_expression(found: DryRun, expression: CelExpression, document: EventDocument) -> None:
    holds, error = expression.evaluate(document)
    values = [holds] if error is None else []
    result = TermResult("", CEL, expression.source, values, error)
    (found.matched if holds else found.failed).append(result)


def _evaluate(found: DryRun, terms: Iterable[Term], document: dict[str, Any]) -> None:
    for term in terms:
        holds = term.holds(document)
        if not term.branches:
            (found.matched if holds else found.failed).append(_result(term, document))
            continue
        inner = DryRun(holds)
        for branch in term.branches:
            if not holds or all(one.holds(document) for one in branch):
                _evaluate(inner, branch, document)
        found.matched += inner.matched
        # If one branch holds, the other branches do not make the filter fail.
        found.failed += [] if holds else inner.failed or [_result(term, document)]


def _result(term: Term, document: dict[str, Any]) -> TermResult:
    values = [_shortened(value) for value in found_at(document, term.path)[:MOST_VALUES]]
    return TermResult(".".join(term.path), term.operator, term.operand, values)


def _shortened(value: Any) -> Any:
    """Return a value, or the beginning of its JSON if that is long."""
    try:
        text = orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        # Numbers beyond 64 bits and values that are nested deeply have no JSON in the answers.
        return _as_text(value)[:MOST_TEXT]
    return value if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}..."


def _as_text(value: Any) -> str:
    try:
        return str(value)
    except RecursionError:
        return "a value that is nested too deeply"
