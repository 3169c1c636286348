"""A hook's filter: its limits, its compiled form, and its verdict on an event."""

from functools import cached_property, lru_cache
from typing import Any

import orjson

from store.filters import terms
from store.filters.cel_expression import CelExpression, CelResult
from store.filters.conditions import FilterError, Path, as_check, compile_condition
from store.filters.document import PAYLOAD_NAMES, EventDocument
from store.filters.operators import ALIASES, MISSING

MOST_BYTES, MOST_DEPTH, MOST_TERMS = 8 * 1024, 16, 256
# The conditions of a filter times the bytes of a payload. More would take too long, because each
# condition may look at each element of an array.
MOST_WORK = 16_000_000
MEMBERS = ("event", "action", "payload")
"""The members of the document that a filter describes."""
ROOT_ALIASES = dict.fromkeys(PAYLOAD_NAMES, "payload")
CEL = "cel"
"""The member of a filter that is an expression in CEL. It must hold beside the conditions."""
MOST_REASON = 300
LEAST_MEMBERS = 2
"""The members on the way to a value that may be an array: `payload`, and one of its own."""
# The limit of compiled filters in memory, each from at most 8 kB of text. A filter that is used
# again after this many others is compiled again.
CACHED = 4096


class PayloadFilter:
    """A compiled filter. Raises FilterError if the source cannot be used."""

    def __init__(self, source: Any) -> None:
        _check_limits(source)
        self.cel = CelExpression(source[CEL]) if CEL in source else None
        conditions = {name: one for name, one in source.items() if name != CEL}
        self.conditions = _with_root_names(conditions, ())
        # An expression may stand alone, and a filter must not be empty.
        alone = self.cel is not None and not conditions
        self._holds = None if alone else as_check(compile_condition(self.conditions, ()))

    @cached_property
    def weight(self) -> int:
        """The number of checks, each of which may look at a whole payload."""
        return _weight(self.conditions) + (0 if self.cel is None else self.cel.weight)

    def is_too_slow(self, size: int) -> bool:
        """Return whether the filter would take too long for a payload of so many bytes."""
        return self.weight * size > MOST_WORK

    def matches(self, document: EventDocument) -> bool:
        return self.reason(document) is None

    def conditions_hold(self, document: EventDocument) -> bool:
        """Return whether an event satisfies the conditions beside an expression."""
        return self._holds is None or self._holds(document)

    @cached_property
    def terms(self) -> list[terms.Term]:
        """The conditions that must hold, each of which can be checked by itself."""
        return terms.split(self.conditions)

    def reason(self, document: EventDocument) -> str | None:
        """Return why an event does not satisfy the filter. Return None if it does."""
        if self.conditions_hold(document):
            outcome = CelResult(True) if self.cel is None else self.cel.evaluate(document)
            said = None if outcome.holds else _said(outcome)
        else:
            failed = next((term for term in self.terms if not term.holds(document)), None)
            said = "one element does not satisfy all conditions" if failed is None else str(failed)
        return None if said is None else _as_reason(said)


def _as_reason(said: str) -> str:
    """Return the text that is stored with the delivery.

    PostgreSQL accepts no NUL in it. A filter that is older than `check` may hold one.
    """
    return f"filter: {said}"[:MOST_REASON].replace("\0", "\N{REPLACEMENT CHARACTER}")


def _said(outcome: CelResult) -> str:
    if outcome.error is None:
        return "the CEL expression is false"
    return f"the CEL expression has no result: {outcome.error}"


def check(source: Any) -> None:
    """Raise FilterError if a hook cannot be given this filter."""
    PayloadFilter(source)
    # This is not part of the class, because a filter that is stored already must stay in use.
    _check_names(source, ())


def load(text: str) -> PayloadFilter | None:
    """Return a stored filter, compiled. Return None if this installation cannot use it."""
    found = _load(text)
    return found if isinstance(found, PayloadFilter) else None


def problem(text: str) -> str | None:
    """Return why this installation cannot use a stored filter. Return None if it can."""
    found = _load(text)
    return None if isinstance(found, PayloadFilter) else found


@lru_cache(CACHED)
def _load(text: str) -> PayloadFilter | str:
    try:
        return PayloadFilter(orjson.loads(text))
    except FilterError as error:
        return str(error)


def _check_limits(source: Any) -> None:
    if not isinstance(source, dict):
        raise FilterError((), "a filter is an object")
    count = _measure(source, (), 1)
    if count > MOST_TERMS:
        raise FilterError((), f"the filter has {count} terms; {MOST_TERMS} are allowed")
    try:
        size = len(orjson.dumps(source))
    except orjson.JSONEncodeError as error:
        raise FilterError((), f"the filter is not JSON: {error}") from None
    if size > MOST_BYTES:
        raise FilterError((), f"the filter has {size} bytes; {MOST_BYTES} are allowed")


def _measure(value: Any, path: Path, depth: int) -> int:
    """Return the number of values in a filter. Raises FilterError if they are nested too deeply."""
    if depth > MOST_DEPTH + 1:
        raise FilterError(path, f"the filter is nested deeper than {MOST_DEPTH} levels")
    if not isinstance(value, dict | list):
        return 1
    return sum(_measure(one, (*path, name), depth + 1) for name, one in _items(value))


def _check_names(value: Any, path: Path) -> None:
    for name, one in _items(value):
        if "\0" in name:
            raise FilterError((*path, name), "the name of a member must not hold a NUL")
        _check_names(one, (*path, name))


def _items(value: Any) -> list[tuple[str, Any]]:
    """Return the members of an object, or the elements of a list by number."""
    if isinstance(value, dict):
        return [(str(name), one) for name, one in value.items()]
    found = value if isinstance(value, list) else ()
    return [(str(number), one) for number, one in enumerate(found)]


def _weight(value: Any, name: str = "", members: int = -1, looks: int = 0) -> int:
    """Return the number of checks in a condition, which is below so many members.

    `looks` counts the `$or` and `$not` around it that look into an array once more.
    """
    name = ALIASES.get(name, name)
    members += not name.startswith("$")
    # The payload is an object. At a member of it, each of these tries an array and its elements,
    # and the next one tries them again. So beyond the first, each doubles the checks.
    again = members >= LEAST_MEMBERS and name in ("$or", "$not")
    times = 2 if again and looks else 1
    looks += again
    if isinstance(value, dict):
        return times * sum(_weight(one, member, members, looks) for member, one in value.items())
    if isinstance(value, list):
        in_set = name in ("$in", "$nin") and all(isinstance(one, str) for one in value)
        return 1 if in_set else times * sum(_weight(one, "$and", members, looks) for one in value)
    # Each place in a text may be compared with all characters around a `?`.
    return len(value) if name == "$glob" and "?" in value else 1


def _with_root_names(source: Any, path: Path) -> Any:
    """Return a condition on the document with its own names. Raises FilterError for others."""
    if not isinstance(source, dict):
        return source
    found: dict[str, Any] = {}
    for given, operand in source.items():
        name = ROOT_ALIASES.get(given, given)
        here = (*path, given)
        if name in found:
            raise FilterError(here, f"{name!r} is given twice")
        if name in ("$and", "$or"):
            branches = operand if isinstance(operand, list) else []
            operand = [_with_root_names(one, (*here, str(at))) for at, one in enumerate(branches)]
        elif name == "$not":
            operand = _with_root_names(operand, here)
        elif name == CEL:
            raise FilterError(here, "an expression stands beside $and, $or and $not, not in them")
        elif name not in MEMBERS:
            raise FilterError(
                here, f"a filter begins with {', '.join(MEMBERS)}, {CEL}, $and, $or or $not"
            )
        found[name] = operand
    return found


def found_at(document: Any, path: Path) -> list[Any]:
    """Return the values at a path; several if there are arrays on the way, none if it is missing.

    At the path's end, an array is one value.
    """
    values = [document]
    for name in path:
        values = [
            one.get(name, MISSING)
            for value in values
            for one in (value if isinstance(value, list) else [value])
            if isinstance(one, dict)
        ]
    return [value for value in values if value is not MISSING]
