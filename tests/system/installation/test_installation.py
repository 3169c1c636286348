"""Every way to install tocsin: the built distributions, and the commands that install it."""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import httpx
import pytest
from bytecode import lend_bytecode
from pty_process import INTERRUPT, PtyProcess
from uv_command import find_uv
from waiting import PATIENCE

from hub import __version__

ROOT = Path(__file__).parents[3]
LEFT_OUT = (".git", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".hypothesis", "*.pyc")
# Limits of what is installed beside tocsin, without extras, pip and setuptools.
MOST_PACKAGES, MOST_BYTES = 40, 90 * 1024 * 1024
# The bytes of a disk block. Each file and folder takes a whole number of blocks.
BLOCK = 4096
BROUGHT = {"pip", "setuptools", "tocsin"}
# Libraries that no compiled module uses. mypyc needs half of its time to check them, and writes the
# same C code without them.
UNUSED = (
    *("click", "email_validator", "httpx", "markdown_it", "nacl", "psycopg", "psycopg_pool"),
    *("pydantic.v1", "rich"),
)
SKIPPED = f"[mypy-{','.join(f'{name}.*' for name in UNUSED)}]\nfollow_imports = skip\n"
# These patch a function that compiled modules call directly, or read its signature.
INTERPRETED_ONLY = (
    "delivery/test_isolation.py::test_the_rate_of_a_hook_is_kept",
    "delivery/test_payload_cache.py::test_one_event_to_many_form_hooks_is_encoded_once",
    "delivery/test_recorded_attempts.py::test_a_mistake_before_the_request_is_an_attempt",
    "delivery/test_recorded_attempts.py::test_the_real_transport_is_a_poster",
    "delivery/test_worker_lease.py::test_an_offer_under_an_ended_lease_is_ignored",
    "delivery/test_worker_lease.py::test_the_grace_of_deliveries_begins_with_the_stop",
)


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command that must succeed. Return its output."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**clean, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def copy(folder: Path) -> Path:
    """Copy the sources, because builds leave files in their folder."""
    return shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources, as they are cloned, for commands that install them from there."""
    return copy(tmp_path_factory.mktemp("cloned") / "sources")


@pytest.fixture
def empty_folder(tmp_path: Path) -> Path:
    """A folder without the sources."""
    made = tmp_path / "empty_folder"
    made.mkdir()
    return made


def smoke(tocsin: Path, empty_folder: Path) -> None:
    """Check that an installation is complete: its code, its pages and its deliveries."""
    lend_bytecode(packages_of(tocsin))
    assert run(tocsin, "--version", cwd=empty_folder) == f"tocsin, version {__version__}\n"
    assert "4 deliveries, all verified" in run(tocsin, "demo", "--once", cwd=empty_folder)
    assert "first hour" in run(tocsin, "help", "tutorial", cwd=empty_folder)
    daemon = PtyProcess([str(tocsin), "serve", "--port", "0"], cwd=empty_folder)
    try:
        url = daemon.until(r"at work: (http://\S+)$")[1]
        with httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE) as client:
            for path in ("/healthz", "/docs", "/ui/sign-in", "/reference", "/openapi.json"):
                assert client.get(path).status_code == 200, path
        daemon.type(INTERRUPT)
        assert daemon.ended() == 0, daemon.seen
    finally:
        daemon.close()


def packages_of(tocsin: Path) -> Path:
    """The folder of the packages beside a command, which may be a link to it."""
    (found,) = tocsin.resolve().parents[1].glob("lib/python*/site-packages")
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files of two builds, from copies in different folders and with other rights."""
    uv, made = find_uv(), []
    for name, mask in (("one", 0o022), ("another", 0o077)):
        folder = tmp_path_factory.mktemp(name)
        before = os.umask(mask)
        try:
            sources = copy(folder / name)
            (sources / "hub" / "__init__.py").touch()
            run(uv, "build", "-q", "--out-dir", folder / "dist", cwd=sources,
                SOURCE_DATE_EPOCH="1700000000")  # fmt: skip
        finally:
            os.umask(before)
        made.append(folder / "dist")
    return made


def test_two_builds_are_the_same(built):
    digests = [
        {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in folder.glob("tocsin-*")}
        for folder in built
    ]
    assert digests[0] == digests[1]
    assert {name.removeprefix(f"tocsin-{__version__}") for name in digests[0]} == {
        ".tar.gz",
        "-py3-none-any.whl",
    }


def test_the_wheel_has_one_command_and_no_tests(built):
    (wheel,) = built[0].glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (entry_points,) = [name for name in names if name.endswith("entry_points.txt")]
        assert archive.read(entry_points).decode().split("\n", 1)[1] == "tocsin = hub.cli:main\n"
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if "dist-info" not in top} == {"hub", "store", "worker", "tocsin"}


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_a_distribution_works_from_a_path_without_the_sources(built, empty_folder, kind):
    (distribution,) = built[0].glob(kind)
    uv = find_uv()
    run(uv, "venv", "-q", "--python", sys.executable, "venv", cwd=empty_folder)
    run(uv, "pip", "install", "-q", "--python", "venv", distribution, cwd=empty_folder)
    smoke(empty_folder / "venv" / "bin" / "tocsin", empty_folder)


def test_uv_tool_install_puts_one_command_on_the_path(sources, tmp_path, empty_folder):
    uv = find_uv()
    folders = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    run(uv, "tool", "install", "-q", "--python", sys.executable, ".", cwd=sources, **folders)
    assert [path.name for path in (tmp_path / "bin").iterdir()] == ["tocsin"]
    smoke(tmp_path / "bin" / "tocsin", empty_folder)


def test_uvx_runs_it_without_an_installation(sources, tmp_path):
    uv = find_uv()
    folders = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    command = ["tool", "run", "-q", "--python", sys.executable, "--from", ".", "tocsin", "demo"]
    assert "4 deliveries, all verified" in run(uv, *command, cwd=sources, **folders)
    assert not (tmp_path / "bin").exists()


@pytest.mark.skipif(importlib.util.find_spec("pipx") is None, reason="pipx is not installed")
def test_pipx_puts_one_command_on_the_path(sources, tmp_path, empty_folder):
    folders = {
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "bin"),
        "PIPX_MAN_DIR": str(tmp_path / "man"),
    }
    run(sys.executable, "-m", "pipx", "install", "-q", "--python", sys.executable, ".",
        cwd=sources, **folders)  # fmt: skip
    assert [path.name for path in (tmp_path / "bin").iterdir()] == ["tocsin"]
    smoke(tmp_path / "bin" / "tocsin", empty_folder)


def test_pip_installs_into_a_virtual_environment(sources, empty_folder):
    run(sys.executable, "-m", "venv", ".venv", cwd=sources)
    empty = size(sources / ".venv")
    run(sources / ".venv" / "bin" / "pip", "install", "-q", ".", cwd=sources)
    listing = run(sources / ".venv" / "bin" / "pip", "list", "--format", "json", cwd=sources)
    packages = {one["name"].lower() for one in json.loads(listing)} - BROUGHT
    assert len(packages) <= MOST_PACKAGES, sorted(packages)
    assert size(sources / ".venv") - empty <= MOST_BYTES
    smoke(sources / ".venv" / "bin" / "tocsin", empty_folder)


def size(folder: Path) -> int:
    """The bytes of a folder on a disk. In memory, folders and ends of files take less."""
    return sum(-(-path.lstat().st_size // BLOCK) * BLOCK for path in folder.rglob("*"))


def test_the_extra_all_has_all_others():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    named = everything.removeprefix("tocsin[").removesuffix("]").split(",")
    assert {*named} == extras.keys() - {"all", "test", "bench"}
    assert "tocsin[all]" in extras["test"], "no test may skip because an extra is missing"


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """A wheel whose modules of the delivery path are compiled."""
    headers = Path(sysconfig.get_path("include"), "Python.h")
    if shutil.which("gcc") is None or not headers.exists():
        pytest.skip("modules cannot be compiled without gcc and the headers of Python")
    sources = copy(tmp_path / "sources")
    skipped = tmp_path / "mypy.ini"
    skipped.write_text(SKIPPED, encoding="utf-8")
    change(sources / "pyproject.toml", "mypy-args = [", f'mypy-args = ["--config-file={skipped}", ')
    # The C compiler's optimizations and warnings take most of the time, and change nothing that is
    # tested. CFLAGS replaces the options that Python was built with, which ask for both. Tables for
    # C++ exceptions are not needed either.
    change(sources / "pyproject.toml", 'opt_level = "3"', 'opt_level = "0"')
    # Without this, Python spends a third of mypyc's time on freeing each node of mypy's trees.
    quick_end = tmp_path / "quick_end"
    quick_end.mkdir()
    (quick_end / "sitecustomize.py").write_text("import atexit, gc\natexit.register(gc.freeze)\n")
    run(find_uv(), "build", "-q", "--wheel", "--python", sys.executable, "--out-dir", tmp_path,
        cwd=sources, HATCH_BUILD_HOOK_ENABLE_MYPYC="1", PYTHONPATH=str(quick_end),
        CFLAGS="-fwrapv -DNDEBUG -w -fno-asynchronous-unwind-tables")  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    return wheel


def change(file: Path, present: str, wanted: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert present in text
    file.write_text(text.replace(present, wanted), encoding="utf-8")


def test_compiled_modules_import_no_library_that_mypyc_skips():
    imported = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(UNUSED)})\b", re.MULTILINE)
    for module in compiled_modules():
        source = ROOT / f"{module.replace('.', '/')}.py"
        assert not imported.search(source.read_text(encoding="utf-8")), module


@pytest.mark.slow("modules are compiled, and their tests run again")
def test_compiled_modules_pass_the_tests_of_the_pure_ones(compiled, empty_folder):
    run(find_uv(), "venv", "-q", "--python", sys.executable, "venv", cwd=empty_folder)
    run(
        find_uv(),
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--python",
        "venv",
        compiled,
        cwd=empty_folder,
    )
    python = empty_folder / "venv" / "bin" / "python"
    lend_packages(python, empty_folder)
    lend_bytecode(packages_of(python.with_name("tocsin")))
    modules = compiled_modules()
    ask = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]: print(importlib.import_module(name).__file__)"
    )
    places = run(python, "-c", ask, *modules, cwd=empty_folder).splitlines()
    for module, place in zip(modules, places, strict=True):
        assert place.endswith(".so"), module
    shutil.copy(ROOT / "pyproject.toml", empty_folder)
    shutil.copytree(ROOT / "tests", empty_folder / "tests")
    left_out = [f"--deselect=tests/worker/{name}" for name in INTERPRETED_ONLY]
    tested = ("delivery", "http", "senders/test_deliveries.py", "signing")
    folders = [f"tests/worker/{name}" for name in tested]
    # The compiled modules do not depend on the database.
    tests = ["-m", "pytest", "-k", "not postgres", *folders, *left_out]
    # Hypothesis keeps its tables of characters there.
    kept = str(ROOT / ".hypothesis")
    said = run(python, *tests, cwd=empty_folder, HYPOTHESIS_STORAGE_DIRECTORY=kept)
    assert ", 0 failed" in said
    smoke(empty_folder / "venv" / "bin" / "tocsin", empty_folder)


def lend_packages(python: Path, empty_folder: Path) -> None:
    """Let an environment find what this one has, after its own packages.

    The packages are the same, and already compiled to bytecode. Python ignores `.pth` files in the
    added folders, so that an editable install of the sources is not visible.
    """
    own = run(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=empty_folder
    )
    lent = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    Path(own.strip(), "lent.pth").write_text("\n".join(lent), encoding="utf-8")


def compiled_modules() -> list[str]:
    """The modules that the build hook compiles."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]
    return [path[1:].removesuffix(".py").replace("/", ".") for path in hook["include"]]
