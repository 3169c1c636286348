"""A filter as an expression in CEL: compiled once, and evaluated for each event."""

from typing import Any, NamedTuple

from store.filters import cel_bounds, cel_library, cel_tree
from store.filters.conditions import FilterError
from store.filters.document import EventDocument

LONGEST = 2048
TOO_MANY_ELEMENTS = "the payload has so many elements that the expression does not apply"
_OUT_OF_STEPS = "Iteration budget exceeded"


class CelResult(NamedTuple):
    """Whether an event satisfies an expression, and why the expression has no result."""

    holds: bool
    error: str | None = None


class CelExpression:
    """A compiled expression. Raises FilterError if the source cannot be used."""

    def __init__(self, source: Any) -> None:
        if not isinstance(source, str) or not source.strip():
            raise FilterError(("cel",), "an expression is a text")
        if len(source) > LONGEST:
            found = f"the expression has {len(source)} characters"
            raise FilterError(("cel",), f"{found}; {LONGEST} are allowed")
        self.source = source
        self._compiled = cel_library.compile_source(source)
        result = self._compiled.return_type().name()
        if result not in ("BOOL", "DYN"):
            raise FilterError(("cel",), f"the result is {result.lower()}, and not true or false")
        self.weight = _weight(source, cel_tree.read(self._compiled.serialize()))

    def evaluate(self, document: EventDocument) -> CelResult:
        """Evaluate the expression. An error means that the event does not satisfy it."""
        try:
            result = self._compiled.eval(document.cel_variables)
        except RuntimeError as error:
            if _OUT_OF_STEPS in str(error):
                return CelResult(True, TOO_MANY_ELEMENTS)
            return CelResult(False, cel_library.readable(str(error)))
        value, kind = result.value(), result.type().name()
        if kind == "ERROR":
            return CelResult(False, cel_library.readable(str(value)))
        if kind != "BOOL":
            return CelResult(False, f"the result is {kind.lower()}, and not true or false")
        return CelResult(bool(value))


def _weight(source: str, tree: cel_tree.Tree) -> int:
    try:
        return cel_bounds.weigh(tree.root, cel_bounds.Scope(frozenset(cel_library.VARIABLES)))
    except cel_bounds.OutOfBounds as error:
        before = source[: tree.offsets.get(error.node.id, 0)]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise FilterError(("cel",), f"line {line}, column {column}: {error}") from None
