"""Client generators accept the OpenAPI document without warnings, and cover every operation."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from assertions import BASE

from hub.openapi.document import document
from hub.openapi.other_endpoints import OTHER_ENDPOINTS
from hub.operations import EVENTS, OPERATIONS

SCHEMAS = "#/components/schemas/"
# The generator does not know this media type, so a setting maps it to one that it knows.
CONFIG = "content_type_overrides:\n  application/x-ndjson: application/octet-stream\n"
ENDPOINT = re.compile(r'"method": "([a-z]+)",\s+"url": "([^"]+)"')
PARAMETER = re.compile(r"\{[^}]+\}")
# Garbage collection takes a fifth of the generator's time. It copies large trees, and then ends.
GENERATOR = """
import gc, runpy
gc.disable()
runpy.run_module("openapi_python_client", run_name="__main__")
"""
NPM = shutil.which("npm")
PACKAGES = ("openapi-typescript@7", "typescript@5")
CALLS = """\
import type {{ operations, paths }} from "./api";
export const names: (keyof operations)[] = [{names}];
export const places: (keyof paths)[] = [{places}];
"""


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    """The document that the hub serves."""
    content = document(OPERATIONS, dict.fromkeys(OTHER_ENDPOINTS, "A door"), BASE, EVENTS)
    return dict(json.loads(json.dumps(content)))


def everything(content: Any, path: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in a document, with its place."""
    if isinstance(content, dict):
        yield path, content
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for name, inner in items:
        if isinstance(inner, dict | list):
            yield from everything(inner, f"{path}/{name}")


def lines(described: dict[str, Any]) -> list[tuple[str, str]]:
    """Method and path of every operation."""
    return [(method, path) for path, one in described["paths"].items() for method in one]


def in_python(path: str) -> str:
    """A path whose parameters have valid names in Python."""
    return PARAMETER.sub(lambda found: found[0].replace("-", "_").replace("_}", "}"), path)


def test_types_have_names_of_their_own(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"]
    assert {name: schema["title"] for name, schema in schemas.items()} == {
        name: name for name in schemas
    }
    assert not [name for name in schemas if not re.fullmatch("([A-Z][a-z]+)+", name)]
    titles = Counter(
        one["title"] for _, one in everything(described) if isinstance(one.get("title"), str)
    )
    assert [title for title, times in titles.items() if times > 1] == []
    assert len({name.lower() for name in schemas}) == len(schemas)


def test_an_enum_is_of_one_type(described: dict[str, Any]) -> None:
    mixed = {
        path: one["enum"]
        for path, one in everything(described)
        if isinstance(one.get("enum"), list)
        and len({type(value) for value in one["enum"] if value is not None}) > 1
    }
    assert mixed == {}


def test_every_reference_leads_somewhere_and_every_type_is_used(
    described: dict[str, Any],
) -> None:
    used = {one["$ref"] for _, one in everything(described) if isinstance(one.get("$ref"), str)}
    types = {one.removeprefix(SCHEMAS) for one in used if one.startswith(SCHEMAS)}
    assert types == set(described["components"]["schemas"])


def test_a_python_client_can_be_generated(described: dict[str, Any], tmp_path: Path) -> None:
    written, config, made = (tmp_path / name for name in ("api.json", "config.yml", "made"))
    written.write_text(json.dumps(described))
    config.write_text(CONFIG)
    # The generator formats its files with ruff, which is in the interpreter's folder.
    where = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = _run(
        tmp_path,
        *(sys.executable, "-c", GENERATOR, "generate", "--fail-on-warning"),
        *("--path", str(written), "--config", str(config)),
        *("--output-path", str(made), "--meta", "none"),
        PATH=where,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert not re.search("warning|unable|error", said, re.IGNORECASE), said
    found = sorted(
        (match[1], in_python(match[2]))
        for file in (made / "api").rglob("*.py")
        for match in ENDPOINT.finditer(file.read_text())
    )
    assert found == sorted((method, in_python(path)) for method, path in lines(described))
    assert len(list((made / "models").glob("*.py"))) > len(described["components"]["schemas"])


@pytest.mark.slow("npm fetches the generator")
@pytest.mark.skipif(NPM is None, reason="npm is not installed")
def test_a_typescript_client_can_be_generated(described: dict[str, Any], tmp_path: Path) -> None:
    written, made = tmp_path / "api.json", tmp_path / "api.ts"
    written.write_text(json.dumps(described))
    fetched = _run(tmp_path, str(NPM), "install", "--no-audit", "--no-fund", *PACKAGES)
    if fetched.returncode != 0:
        pytest.skip(f"no registry has {', '.join(PACKAGES)}: {fetched.stderr[-200:]}")
    tools = tmp_path / "node_modules" / ".bin"
    done = _run(tmp_path, str(tools / "openapi-typescript"), str(written), "-o", str(made))
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert not re.search("warn|error|⚠|✘", said, re.IGNORECASE), said
    ids = [
        operation["operationId"]
        for operations in described["paths"].values()
        for operation in operations.values()
    ]
    names, places = ", ".join(map(json.dumps, ids)), ", ".join(map(json.dumps, described["paths"]))
    (tmp_path / "calls.ts").write_text(CALLS.format(names=names, places=places))
    # `--skipLibCheck` skips declaration files only, so tsc does check the generated file. The
    # file needs no declarations of browsers, whose reading takes a third of the time.
    options = ("--noEmit", "--strict", "--skipLibCheck", "--lib", "es2022")
    checked = _run(tmp_path, str(tools / "tsc"), *options, "calls.ts")
    assert checked.returncode == 0, checked.stdout


def _run(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **environment}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
