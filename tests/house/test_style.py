"""The code passes ruff's format and lint, and mypy's strict mode."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKS = {
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "lint": ["ruff", "check", "--quiet", "."],
    "types": ["mypy"],
}


@pytest.mark.parametrize("check", CHECKS)
def test_the_code_passes(check: str) -> None:
    command = [sys.executable, "-m", *CHECKS[check]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
