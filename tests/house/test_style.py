"""The code passes ruff's format and lint, and mypy's strict mode."""

import tomllib

import pytest
from style_checks import CHECKS, ROOT, result


@pytest.mark.parametrize("check", CHECKS)
def test_the_code_passes(check: str) -> None:
    code, output = result(check)
    assert code == 0, output


def test_mypy_finds_the_helpers_of_tests_where_pytest_does() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    assert [".", *tools["mypy"]["mypy_path"]] == tools["pytest"]["ini_options"]["pythonpath"]
