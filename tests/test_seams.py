"""Tests use what the packages offer: no test names what a package keeps to itself, so that a rename
inside a package breaks no test.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
PRIVATE = re.compile(r"_[a-z]\w*")
# The interface of named tuples, which begins so.
PUBLIC = {"_asdict", "_fields", "_make", "_replace"}
PATCHES = {"setattr", "delattr", "getattr", "hasattr"}


def private_names(source: str) -> Iterator[str]:
    """The private names of other modules and objects in a source, each with its line."""
    for node in ast.walk(ast.parse(source)):
        for name in _named(node):
            if PRIVATE.fullmatch(name) and name not in PUBLIC:
                yield f"{node.lineno}: {name}"  # type: ignore[attr-defined]


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute) and not _is_own(node.value):
        yield node.attr
    elif isinstance(node, ast.ImportFrom):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in PATCHES:
        for given in node.args:
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                yield given.value.rpartition(".")[2]


def _is_own(value: ast.expr) -> bool:
    return ast.unparse(value) in ("self", "cls", "super()")


def test_no_test_names_what_a_package_keeps_to_itself() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{name}"
        for path in sorted(TESTS.rglob("*.py"))
        for name in private_names(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_private_names_are_found() -> None:
    source = 'from hub import _a\nb._c\nd._replace()\nself._e\npatch.setattr("x._f", 1)\n'
    assert sorted(private_names(source)) == ["1: _a", "2: _c", "5: _f"]
