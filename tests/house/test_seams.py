"""Tests use only public names of the packages, so that a rename inside a package breaks no test.
If a string in a test names a module or its member, that module or member exists. Otherwise, a
rename could make the test check nothing, and nobody would notice.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
PRIVATE = re.compile(r"_[a-z]\w*")
# The interface of named tuples, and functions of the standard library that end a forked process.
PUBLIC = {"_asdict", "_fields", "_make", "_replace", "_exit", "_run_exitfuncs"}
PATCHES = {"setattr", "delattr", "getattr", "hasattr"}
# The full name of a module in a package. Shorter names can have another meaning: WebSub's hub.mode.
DOTTED = re.compile(r"(?<![\w./-])(?:hub|store|worker)\.\w+(?:\.[A-Za-z_]\w*)+(?![\w/])")
# A module that does not exist, for a test of that error, and a call on an object named `store`.
NO_MODULES = {"worker.senders.no_such_module", "store.engine.acquire_worker_lock"}


@functools.cache
def named_in(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The private names in a module, and the members of packages that its strings name."""
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    return tuple(private_names(nodes)), tuple(dotted_names(nodes))


def private_names(nodes: list[ast.AST]) -> Iterator[str]:
    """The private names of other modules and objects, each with its line."""
    for node in nodes:
        for name in _named(node):
            if PRIVATE.fullmatch(name) and name not in PUBLIC:
                yield f"{node.lineno}: {name}"  # type: ignore[attr-defined]


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        if node.attr.startswith("_") and not _is_own(node.value):
            yield node.attr
    elif isinstance(node, ast.ImportFrom):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.Call) and _last_name(node.func) in PATCHES:
        for given in node.args:
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                yield given.value.rpartition(".")[2]


def _last_name(function: ast.expr) -> str:
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _is_own(value: ast.expr) -> bool:
    return ast.unparse(value) in ("self", "cls", "super()")


def test_no_test_names_a_private_member_of_a_package() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{name}"
        for path in sorted(TESTS.rglob("*.py"))
        for name in named_in(path)[0]
    ]
    assert found == []


def dotted_names(nodes: list[ast.AST]) -> Iterator[str]:
    """The members of packages that strings name, each with its line."""
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield from (f"{node.lineno}: {name}" for name in DOTTED.findall(node.value))


def exists(name: str) -> bool:
    """Whether a name is a module, or a member that a module or its class defines."""
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        path = TESTS.parent.joinpath(*parts[:length])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if file.is_file():
            source = file.read_text(encoding="utf-8")
            return all(re.search(rf"\b{part}\b", source) for part in parts[length : length + 1])
    return False


def test_modules_that_tests_name_in_texts_exist() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{name}"
        for path in sorted(TESTS.rglob("*.py"))
        for name in named_in(path)[1]
        if not exists(name.partition(" ")[2]) and name.partition(" ")[2] not in NO_MODULES
    ]
    assert found == []


def test_names_in_texts_are_found() -> None:
    source = 'a = "hub.mode {0} -m {0}.Desk", f"{0}{b}"\n"""{0}.Docstring"""'
    name = ".".join(("hub", "ui", "dashboard"))
    tree = ast.parse(source.replace("{0}", name))
    assert sorted(dotted_names([*ast.walk(tree)])) == [
        f"1: {name}",
        f"1: {name}",
        f"1: {name}.Desk",
    ]
    assert exists(name)
    assert exists(f"{name}.Dashboard")
    assert not exists(f"{name}.Desk")
    assert not exists(f"{name}s")


def test_private_names_are_found() -> None:
    source = 'from hub import _a\nb._c\nd._replace()\nself._e\npatch.setattr("x._f", 1)\n'
    assert sorted(private_names([*ast.walk(ast.parse(source))])) == ["1: _a", "2: _c", "5: _f"]
