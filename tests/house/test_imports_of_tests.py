"""A test of a pure function starts at once: it imports neither the hub nor large libraries."""

import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
HEAVY = {"httpx", "hub.app", "hypothesis", "psycopg", "uvicorn"}


def test_a_pure_function_is_tested_without_the_hub() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "pytest"]
    done = subprocess.run(
        [*command, "tests/hub/http/test_numbers.py"],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = set(re.findall(r"^import time:.*\| +(\S+)$", done.stderr, re.MULTILINE))
    assert "pytest" in imported
    assert imported & HEAVY == set()
