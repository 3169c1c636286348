"""The compilation of conditions.

A condition is an object. Its operators check the value at a path, and its other members are
conditions on the value's members. All of them must hold. If the value is an array, one element must
satisfy all positive parts together. A negative part (`$ne`, `$nin`, `$not`, `$exists: false`) holds
if its positive form holds for no element.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from store.filters.operators import (
    ALIASES,
    LOGICAL,
    MISSING,
    NEGATIVE,
    OPERATORS,
    POSITIVE,
    Check,
)


class FilterError(ValueError):
    """A filter that cannot be used. `path` says which part of it."""

    def __init__(self, path: Iterable[str], reason: str) -> None:
        self.path = ".".join(path)
        self.reason = reason
        super().__init__(f"{self.path}: {reason}" if self.path else reason)


class Condition(NamedTuple):
    """The positive and the negative part of a condition; None if there is no such part."""

    some: Check | None
    """The part that holds if one value satisfies it."""
    every: Check | None
    """The part that holds if all values satisfy it."""


Path = tuple[str, ...]


def compile_condition(source: Any, path: Path) -> Condition:
    """Compile a condition. A bare value stands for `$eq`. Raises FilterError."""
    if not isinstance(source, dict):
        return _bare(source, path)
    if not source:
        raise FilterError(path, "the condition is empty")
    return _together([_part(name, operand, path) for name, operand in source.items()])


def as_check(condition: Condition) -> Check:
    """Return the check of a whole condition, which looks into arrays."""
    some, every = condition

    def holds(value: Any) -> bool:
        if not isinstance(value, list):
            return (some is None or some(value)) and (every is None or every(value))
        # The array itself is a candidate too, as for `$exists` and for `$eq` with an array.
        if some is not None and not (some(value) or any(map(some, value))):
            return False
        return every is None or (every(value) and all(map(every, value)))

    return holds


def _bare(source: Any, path: Path) -> Condition:
    if isinstance(source, list):
        raise FilterError(path, 'a list is no condition: use {"$in": [...]}, or $eq for an array')
    return Condition(POSITIVE["$eq"](source), None)


def _together(parts: list[Condition]) -> Condition:
    return Condition(
        _all([part.some for part in parts if part.some is not None]),
        _all([part.every for part in parts if part.every is not None]),
    )


def _all(checks: list[Check]) -> Check | None:
    if not checks:
        return None
    if len(checks) == 1:
        return checks[0]
    first, *others = checks
    if len(others) == 1:
        second = others[0]
        return lambda value: first(value) and second(value)
    return lambda value: all(check(value) for check in checks)


def _part(name: str, operand: Any, path: Path) -> Condition:
    here = (*path, name)
    name = ALIASES.get(name, name)
    if not name.startswith("$"):
        return _member(name, compile_condition(operand, here))
    if name in LOGICAL:
        return _LOGICAL[name](operand, here)
    if name not in OPERATORS:
        raise FilterError(here, f"unknown operator; these are known: {', '.join(OPERATORS)}")
    try:
        check = POSITIVE[NEGATIVE.get(name, name)](operand)
    except ValueError as error:
        raise FilterError(here, str(error)) from None
    if name in NEGATIVE or (name == "$exists" and not operand):
        return Condition(None, lambda value: not check(value))
    return Condition(check, None)


def _member(name: str, condition: Condition) -> Condition:
    """Return the same condition on the member of an object."""
    some, every = condition
    return Condition(
        None if some is None else _at(name, as_check(Condition(some, None))),
        None if every is None else _at(name, as_check(Condition(None, every))),
    )


def _at(name: str, check: Check) -> Check:
    return lambda value: check(value.get(name, MISSING) if isinstance(value, dict) else MISSING)


def _branches(operand: Any, path: Path) -> list[Condition]:
    if not isinstance(operand, list) or not operand:
        raise FilterError(path, "a list of conditions is required")
    found = []
    for number, branch in enumerate(operand):
        here = (*path, str(number))
        if not isinstance(branch, dict):
            raise FilterError(here, "a condition is an object")
        found.append(compile_condition(branch, here))
    return found


def _and(operand: Any, path: Path) -> Condition:
    return _together(_branches(operand, path))


def _or(operand: Any, path: Path) -> Condition:
    checks = [as_check(part) for part in _branches(operand, path)]
    return Condition(lambda value: any(check(value) for check in checks), None)


def _not(operand: Any, path: Path) -> Condition:
    if not isinstance(operand, dict):
        raise FilterError(path, "a condition is an object")
    check = as_check(compile_condition(operand, path))
    return Condition(None, lambda value: not check(value))


_LOGICAL: dict[str, Callable[[Any, Path], Condition]] = {"$and": _and, "$or": _or, "$not": _not}
