"""Docstrings and comments of the packages avoid turns of phrase that have to be read twice."""

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from plain_english import found_in

ROOT = Path(__file__).parents[1]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def texts(source: str) -> Iterator[str]:
    """The docstrings and the comments of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


@pytest.mark.parametrize("package", ["hub", "store", "worker"])
def test_docstrings_and_comments_use_no_banned_turn(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for text in texts(path.read_text(encoding="utf-8"))
        if found_in(text)
    ]
    assert found == []


def test_a_banned_turn_is_found() -> None:
    assert [text for text in texts('def f():\n    """What is told."""\n') if found_in(text)]
    assert [text for text in texts("# The key is that of the hub.\n") if found_in(text)]
