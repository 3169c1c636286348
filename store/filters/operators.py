"""The operators of filters: each turns its operand into a check of one value.

A check never raises an error. Types are strict, as in JSON: true is not 1, and "1" is not 1.
"""

import re
from collections.abc import Callable
from typing import Any

Check = Callable[[Any], bool]

ALIASES = {"$neq": "$ne", "$exist": "$exists"}
"""Operators as Convoy and Outpost spell them."""


class MissingValue:
    """The value at a path that the payload does not have."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = MissingValue()


def is_number(value: Any) -> bool:
    """Return whether a value is a JSON number. In Python, true and false are numbers too."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal, members and elements included."""
    if is_number(one) or is_number(other):
        return is_number(one) and is_number(other) and bool(one == other)
    if isinstance(one, list):
        if not isinstance(other, list) or len(one) != len(other):
            return False
        return all(equal(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, dict):
        if not isinstance(other, dict) or one.keys() != other.keys():
            return False
        return all(equal(value, other[name]) for name, value in one.items())
    return type(one) is type(other) and bool(one == other)


def _equals(operand: Any) -> Check:
    if isinstance(operand, str):
        return lambda value: bool(value == operand)
    if is_number(operand):
        # Most numbers differ, so the comparison comes first.
        return lambda value: bool(value == operand) and is_number(value)
    return lambda value: equal(operand, value)


def _is_in(operand: Any) -> Check:
    if not isinstance(operand, list) or not operand:
        raise ValueError("a list with at least one value is required")
    if all(isinstance(one, str) for one in operand):
        texts = frozenset(operand)
        return lambda value: isinstance(value, str) and value in texts
    return lambda value: any(equal(one, value) for one in operand)


def _compares(holds: Callable[[Any, Any], bool]) -> Callable[[Any], Check]:
    def build(operand: Any) -> Check:
        if isinstance(operand, str):
            return lambda value: isinstance(value, str) and holds(value, operand)
        if is_number(operand):
            return lambda value: is_number(value) and holds(value, operand)
        raise ValueError("a number or a text is required")

    return build


def _text(operand: Any) -> str:
    if not isinstance(operand, str) or not operand:
        raise ValueError("a text with at least one character is required")
    return operand


def _starts_with(operand: Any) -> Check:
    text = _text(operand)
    return lambda value: isinstance(value, str) and value.startswith(text)


def _ends_with(operand: Any) -> Check:
    text = _text(operand)
    return lambda value: isinstance(value, str) and value.endswith(text)


def _contains(operand: Any) -> Check:
    text = _text(operand)
    return lambda value: isinstance(value, str) and text in value


def _exists(operand: Any) -> Check:
    if not isinstance(operand, bool):
        raise ValueError("true or false is required")
    return lambda value: value is not MISSING


Search = Callable[[str, int], tuple[int, int]]
"""Finds a piece of a glob from a position on. Returns where it begins and ends, or -1 twice."""


def _glob(operand: Any) -> Check:
    """`*` stands for any characters, `?` for one. Each piece is searched once, from the left."""
    first, *others = (_piece(piece) for piece in _text(operand).split("*"))
    if not others:
        return lambda value: isinstance(value, str) and first(value, 0) == (0, len(value))
    last_length = len(operand) - operand.rindex("*") - 1
    *middle, last = others

    def matches(value: Any) -> bool:
        if not isinstance(value, str):
            return False
        start, at = first(value, 0)
        if start != 0:
            return False
        for piece in middle:
            start, at = piece(value, at)
            if start < 0:
                return False
        end = len(value) - last_length
        return end >= at and last(value, end) == (end, len(value))

    return matches


def _piece(piece: str) -> Search:
    if "?" not in piece:

        def find(value: str, at: int) -> tuple[int, int]:
            found = value.find(piece, at)
            return (found, found + len(piece)) if found >= 0 else (-1, -1)

        return find
    # Without repetitions, the expression cannot search in more than one way.
    expression = re.compile(
        "".join("." if one == "?" else re.escape(one) for one in piece), re.DOTALL
    )

    def search(value: str, at: int) -> tuple[int, int]:
        found = expression.search(value, at)
        return found.span() if found else (-1, -1)

    return search


POSITIVE: dict[str, Callable[[Any], Check]] = {
    "$eq": _equals,
    "$in": _is_in,
    "$gt": _compares(lambda value, operand: bool(value > operand)),
    "$gte": _compares(lambda value, operand: bool(value >= operand)),
    "$lt": _compares(lambda value, operand: bool(value < operand)),
    "$lte": _compares(lambda value, operand: bool(value <= operand)),
    "$startsWith": _starts_with,
    "$endsWith": _ends_with,
    "$contains": _contains,
    "$glob": _glob,
    "$exists": _exists,
}
NEGATIVE = {"$ne": "$eq", "$nin": "$in"}
"""The operators that hold if another one does not hold."""
LOGICAL = ("$and", "$or", "$not")
OPERATORS = (*POSITIVE, *NEGATIVE, *LOGICAL)
