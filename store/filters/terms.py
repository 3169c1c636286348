"""The terms of a filter: its single conditions, so that a verdict can name the ones that failed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from store.filters.conditions import Path, as_check, compile_condition
from store.filters.operators import ALIASES, Check

MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Term:
    """One condition of a filter: an operator with its operand, at a path of the document.

    `place` is the path in the filter. `$or` has a list of terms for each of its branches.
    """

    path: Path
    place: Path
    operator: str
    operand: Any
    holds: Check
    branches: list[list["Term"]] = field(default_factory=list)

    def __str__(self) -> str:
        shown = orjson.dumps(self.operand).decode()
        if len(shown) > MOST_SHOWN:
            shown = f"{shown[:MOST_SHOWN]}..."
        return f"{'.'.join(self.path) or 'the event'} does not satisfy {self.operator} {shown}"


def split(source: Any) -> list[Term]:
    """Return the terms of a valid filter, all of which must hold."""
    return list(_terms(source, (), ()))


def _terms(source: Any, path: Path, place: Path) -> Iterator[Term]:
    if not isinstance(source, dict):
        yield _term("$eq", source, path, place)
        return
    given: str
    for given, operand in source.items():
        name, here = ALIASES.get(given, given), (*place, given)
        if name == "$and":
            for number, branch in enumerate(operand):
                yield from _terms(branch, path, (*here, str(number)))
        elif name.startswith("$"):
            yield _term(name, operand, path, here)
        else:
            yield from _terms(operand, (*path, name), here)


def _term(operator: str, operand: Any, path: Path, place: Path) -> Term:
    nested: Any = {operator: operand}
    for name in reversed(path):
        nested = {name: nested}
    branches = []
    if operator == "$or":
        branches = [
            list(_terms(branch, path, (*place, str(number))))
            for number, branch in enumerate(operand)
        ]
    check = as_check(compile_condition(nested, ()))
    return Term(path, place, operator, operand, check, branches)
