"""The bounds of a CEL expression, so that no event waits for one.

The library stops after 10,000 steps of a macro, but each step could look at the whole payload. So
the body of a macro sees its own element only, and all steps together look at the payload once.
"""

import re
from typing import NamedTuple

from store.filters import cel_library
from store.filters.cel_tree import Call, Constant, Macro, Name, Node, Select, Values

COMPARISONS = {"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "startsWith", "endsWith"}
"""Functions that compare two values and look no further than the shorter one."""
INDEX, MATCHES = "_[_]", "matches"
# A repetition, or a class of thousands of characters, stands for a much longer pattern.
_LONG_PATTERN = re.compile(r"[{]|\\[pP]")


class OutOfBounds(ValueError):
    """A part of an expression that cannot be used, or that could take too long."""

    def __init__(self, node: Node, reason: str) -> None:
        self.node = node
        super().__init__(reason)


class Scope(NamedTuple):
    """Which variables a part of an expression may use, and how often the part is evaluated."""

    own: frozenset[str]
    foreign: frozenset[str] = frozenset()
    times: int = 1


def weigh(node: Node, scope: Scope) -> int:
    """Return how often an expression may look at the whole payload. Raises OutOfBounds."""
    if isinstance(node, Name):
        if node.name in scope.foreign:
            raise OutOfBounds(
                node, f"a macro sees its own variable only, and {node.name} is another; compare"
                " it with ==, <, startsWith or endsWith, or move it out of the macro"
            )  # fmt: skip
        return scope.times
    if isinstance(node, Select):
        return weigh(node.owner, scope)
    if isinstance(node, Values):
        return sum(weigh(one, scope) for one in node.elements)
    if isinstance(node, Call):
        return _weigh_call(node, scope)
    if isinstance(node, Macro):
        return _weigh_macro(node, scope)
    return 0


def _weigh_call(node: Call, scope: Scope) -> int:
    operands = node.operands
    if node.function == MATCHES:
        return weigh(operands[0], scope) + scope.times * _length_of_pattern(operands[-1])
    if node.function in COMPARISONS:
        others = [one for one in operands if _root(one) not in scope.foreign]
        # If both were from outside of the macro, each step would look at all of them.
        operands = others or operands
    return scope.times + sum(weigh(one, scope) for one in operands)


def _length_of_pattern(node: Node) -> int:
    if not isinstance(node, Constant) or node.text is None:
        raise OutOfBounds(node, "a regular expression must be a text in quotes")
    if _LONG_PATTERN.search(node.text):
        raise OutOfBounds(node, r"a regular expression must not contain { or \p")
    problem = cel_library.pattern_problem(node.text)
    if problem is not None:
        raise OutOfBounds(node, problem)
    return len(node.text)


def _weigh_macro(node: Macro, scope: Scope) -> int:
    range_, variable = node.range, {node.variable}
    if isinstance(range_, Values) and all(isinstance(one, Constant) for one in range_.elements):
        times = scope.times * max(1, len(range_.elements))
        inner = Scope(scope.own | variable, scope.foreign - variable, times)
        return scope.times + weigh(node.body, inner)
    if _root(range_) is None:
        raise OutOfBounds(range_, "a macro needs a member of the payload, or a list of constants")
    inner = Scope(frozenset(variable), (scope.foreign | scope.own) - variable, scope.times)
    return scope.times + weigh(range_, scope) + weigh(node.body, inner)


def _root(node: Node) -> str | None:
    """Return the variable of which a node is a member or an element. None for any other node."""
    if isinstance(node, Call) and node.function == INDEX:
        owner, index = node.operands
        return _root(owner) if isinstance(index, Constant) else None
    if isinstance(node, Select):
        return _root(node.owner)
    return node.name if isinstance(node, Name) else None
