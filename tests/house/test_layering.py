"""The order of packages: hub -> store <- worker, and SQL in the store only."""

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from statements import statements

ROOT = Path(__file__).parents[2]
PACKAGES = ("hub", "store", "worker")
DRIVERS = {"sqlite3", "sqlite_utils", "psycopg", "psycopg_pool", "aiosqlite", "sqlalchemy"}
SQL = re.compile(
    r"^\s*(SELECT\s.+\sFROM\s|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s"
    r"|(CREATE|DROP|ALTER)\s+(TABLE|INDEX)\s|PRAGMA\s|BEGIN\s+IMMEDIATE|WITH\s+RECURSIVE\s)",
    re.DOTALL,
)


# Packages, lower ones first. A package imports only packages before it.
ORDER = {
    "store": (
        "errors clock named_file json_bytes settings trace_context tracing crypto database"
        " text_index jobs audit accounts openid monitoring formats filters endpoint_access hooks"
        " hook_state apps ordering delivery alerts mail pull repositories enterprises agents"
        " devenvs secret_scanning artifacts checks workflows issues assistant imports projection"
        " registry pg_migration backup"
    ),
    "worker": (
        "tuning loop_bound background_tasks slices scheduler settings publishing http signing"
        " senders endpoint_access delivery pull websub imports mail jobs job_table service"
    ),
    "hub": (
        "http admin_settings server_settings rate_limit_settings openid_settings settings auth rest"
        " ingest admin websub api event_examples operations openapi openid ui manual mail"
        " unserved_paths app snapshots worker_events cli"
    ),
    "hub.cli": (
        "commands http_server telemetry service console install operate traffic accounts"
        " playground state manual"
    ),
}
MOST_MODULES = 26


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@functools.cache
def contents(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The imports of a module, and its statements in SQL, each with its line."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    speaks = not path.is_relative_to(ROOT / "store") and not path.is_relative_to(ROOT / "tests")
    return tuple(_imports(tree, path)), tuple(_sql(tree)) if speaks else ()


def _sql(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and SQL.match(text):
            yield f"{node.lineno}: {text[:60]!r}"  # type: ignore[attr-defined]


def imports(path: Path) -> tuple[str, ...]:
    """The full names of all imports of a module, also of imports within functions."""
    return contents(path)[0]


def _imports(tree: ast.AST, path: Path) -> list[str]:
    names: list[str] = []
    for node in statements(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{_origin(node, path)}.{alias.name}" for alias in node.names]
    return names


def _origin(node: ast.ImportFrom, path: Path) -> str:
    if not node.level:
        return node.module or ""
    package = path.relative_to(ROOT).parts[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def tops(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(path)}


def in_cli(path: Path) -> bool:
    return path.is_relative_to(ROOT / "hub" / "cli")


def test_there_is_something_to_look_at() -> None:
    for package in PACKAGES:
        assert len(modules(package)) > 10
    assert "store" in tops(ROOT / "worker" / "delivery" / "dispatcher.py")


def test_benchmarks_can_be_imported_without_pytest() -> None:
    """They are imported without the folders in which pytest looks for modules."""
    paths = [path for path in modules("tests/benchmarks") if path.stem[0] != "_"]
    names = [named(path).removesuffix(".py").replace("/", ".") for path in paths]
    assert len(names) > 30
    found = f"import importlib\nfor name in {names}: importlib.import_module(name)"
    subprocess.run([sys.executable, "-c", found], cwd=ROOT, check=True)


@pytest.mark.parametrize("path", modules("store"), ids=named)
def test_the_store_knows_neither(path: Path) -> None:
    assert not tops(path) & {"hub", "worker"}


@pytest.mark.parametrize("path", modules("worker"), ids=named)
def test_the_worker_does_not_know_the_hub(path: Path) -> None:
    assert "hub" not in tops(path)


@pytest.mark.parametrize("path", modules("hub"), ids=named)
def test_only_the_command_line_knows_hub_and_worker(path: Path) -> None:
    if not in_cli(path):
        assert "worker" not in tops(path)
        assert not [name for name in imports(path) if f"{name}.".startswith("hub.cli.")]


@pytest.mark.parametrize("path", modules("hub", "worker"), ids=named)
def test_only_the_store_speaks_to_databases(path: Path) -> None:
    assert not tops(path) & DRIVERS
    assert contents(path)[1] == ()


def package_of(name: str, top: str) -> str:
    """The package right below `top` that a dotted name is in; empty for `top` itself."""
    return name.removeprefix(top).removeprefix(".").partition(".")[0]


@pytest.mark.parametrize("top", ORDER)
def test_packages_import_downwards_only(top: str) -> None:
    order = ORDER[top].split()
    folder = ROOT.joinpath(*top.split("."))
    packages = {path.stem for path in folder.iterdir() if path.suffix == ".py"} | {
        path.name for path in folder.iterdir() if (path / "__init__.py").exists()
    }
    assert packages - {"__init__", "__main__"} == set(order), "the order names every package once"
    upwards = []
    for path in modules(str(folder.relative_to(ROOT))):
        module = named(path).removesuffix(".py").replace("/", ".")
        own = package_of(module, top)
        if own in {"__init__", "__main__"}:
            continue
        for name in imports(path):
            other = package_of(name, top) if name.startswith(f"{top}.") else ""
            if other in order and order.index(other) > order.index(own):
                upwards.append(f"{module} imports {name}")
    assert upwards == []


def imported_packages(folder: Path, top: str) -> set[str]:
    """The other packages below `top` from which a package imports."""
    names = [name for path in folder.rglob("*.py") for name in imports(path)]
    found = {package_of(name, top) for name in names if name.startswith(f"{top}.")}
    return found - {folder.name}


def stated_packages(folder: Path, order: list[str]) -> set[str]:
    """The packages of `order` that a package may import, as its docstring states."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    sentence = re.findall(r"Imports\s([^.]*)\.", text or "")[-1]
    named = set(re.findall(r"`(\w+)`", sentence)) & set(order)
    if "below" not in sentence:
        return named
    return set(order[: max(order.index(one) for one in named) + 1])


@pytest.mark.parametrize(
    ("top", "name"),
    [
        (top, name)
        for top, order in ORDER.items()
        for name in order.split()
        if (ROOT.joinpath(*top.split("."), name)).is_dir()
    ],
)
def test_a_package_imports_only_packages_in_its_docstring(top: str, name: str) -> None:
    order = ORDER[top].split()
    folder = ROOT.joinpath(*top.split("."), name)
    single = {one for one in order if (folder.parent / f"{one}.py").is_file()}
    stated = stated_packages(folder, order)
    assert imported_packages(folder, top) & set(order) <= stated | single
    assert stated <= set(order[: order.index(name)]) | single


FOLDERS = sorted({path.parent for path in modules(*PACKAGES)})


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_a_package_has_a_docstring(folder: Path) -> None:
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in modules(*PACKAGES, "tests")}), ids=named
)
def test_a_folder_has_few_modules(folder: Path) -> None:
    many = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(many) <= MOST_MODULES


def imported_modules() -> dict[str, set[str]]:
    """Each module, with the modules that it imports. Packages themselves are left out."""
    paths = {
        named(path).removesuffix(".py").replace("/", "."): path
        for path in modules(*PACKAGES)
        if path.name != "__init__.py"
    }
    return {
        name: {one if one in paths else one.rpartition(".")[0] for one in imports(path)}
        & paths.keys() - {name}
        for name, path in paths.items()
    }


def test_no_modules_import_each_other() -> None:
    """Imports within functions and imports for types count, too: a reader of one module needs the
    other.
    """
    left = imported_modules()
    while ground := {name for name, wanted in left.items() if not wanted & left.keys()}:
        left = {name: wanted for name, wanted in left.items() if name not in ground}
    while roof := left.keys() - {one for wanted in left.values() for one in wanted}:
        left = {name: wanted for name, wanted in left.items() if name not in roof}
    assert left.keys() == set()


def is_operations(path: Path) -> bool:
    """Whether a module declares operations."""
    return "ops = " in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "path", [path for path in modules("hub/api") if is_operations(path)], ids=named
)
def test_no_group_of_operations_imports_another(path: Path) -> None:
    others = [other for other in modules("hub/api") if is_operations(other) and other != path]
    names = {named(other).removesuffix(".py").replace("/", ".") for other in others}
    assert not [name for name in imports(path) if name in names or name.rpartition(".")[0] in names]


@pytest.mark.parametrize(
    ("text", "is_sql"),
    [
        ("SELECT id FROM event", True),
        (" UPDATE hook SET active = 0", True),
        ("SELECT 1", False),
        ("Update an issue", False),
        ("Select the hooks from a list", False),
        ("DELETE /repos/{owner}/{repo}", False),
    ],
)
def test_sql_statements_are_recognized(text: str, is_sql: bool) -> None:
    assert bool(SQL.match(text)) is is_sql
