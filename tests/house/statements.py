"""The statements of a module's syntax tree."""

import ast
from collections.abc import Iterator


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node. Expressions are left out, which are nine of ten nodes."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        # In a conditional expression and in a lambda, such a field is one expression and no list.
        inner = getattr(node, name, ())
        for each in inner if isinstance(inner, list) else ():
            yield each
            yield from statements(each)
