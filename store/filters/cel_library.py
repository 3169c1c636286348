"""The library that evaluates CEL (Common Expression Language). The extra `cel` installs it."""

import re
from functools import cache
from typing import Any

from store.filters.conditions import FilterError

VARIABLES = {"event": "string", "action": "dyn", "payload": "dyn", "body": "dyn", "data": "dyn"}
"""The variables of an expression, with their types."""
_DECLARED = "".join(f"- name: {name}\n  type: {kind}\n" for name, kind in VARIABLES.items())
# The macros `map` and `filter` copy the list for each element that they add: 9,000 elements take
# ten seconds.
_SETTINGS = f"variables:\n{_DECLARED}stdlib:\n  exclude_macros:\n  - map\n  - filter\n"
# Without the macro, its variable is what the library does not know first.
_EXCLUDED = re.compile(r"ERROR: <input>:(\d+):(\d+): undeclared reference to '(map|filter)' ")
_PLACED = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_NOISE = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$| \(in container ''\)")


class MissingExtra(FilterError):
    """The library is not installed."""

    def __init__(self) -> None:
        super().__init__(("cel",), "a CEL expression needs the extra cel: install tocsin[cel]")


@cache
def environment() -> Any:
    """Return the library's compiler of expressions. Raises MissingExtra."""
    try:
        # The extra may not be installed, and only filters in CEL need it.
        from cel_expr_python import cel
    except ImportError:
        raise MissingExtra from None
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(_SETTINGS))


def compile_source(source: str) -> Any:
    """Return a compiled expression. Raises FilterError with the place of the first error."""
    try:
        return environment().compile(source)
    except RuntimeError as error:
        raise FilterError(("cel",), _explained(str(error))) from None


def _explained(text: str) -> str:
    if "recursion" in text:
        return "the expression is nested too deeply"
    if excluded := _EXCLUDED.search(text):
        line, column, macro = excluded.groups()
        return f"line {line}, column {column}: the macro {macro} is not allowed: use exists or all"
    found = _PLACED.search(text)
    if found is None:
        return readable(text)
    line, column, reason = found.groups()
    return f"line {line}, column {column}: {readable(reason).removeprefix('Syntax error: ')}"


def pattern_problem(pattern: str) -> str | None:
    """Return why a regular expression cannot be used. Compiling it does not say so."""
    expression = environment().compile("''.matches(payload)")
    result = expression.eval(environment().Activation({"payload": pattern}))
    return readable(str(result.value())) if result.type().name() == "ERROR" else None


def readable(text: str) -> str:
    """Return an error of the library without the names of its codes."""
    return _NOISE.sub("", text).replace(" : ", ": ")
