"""ruff and mypy, as processes that check all code.

They may start before the tests are collected. Collecting keeps one processor busy, and mypy takes
as long on another.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CHECKS = {
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "lint": ["ruff", "check", "--quiet", "."],
    "types": ["mypy"],
}
# Only its parent learns a process's exit code, and a test may run in another process. So a shell
# prints the exit code as the last line.
SCRIPT = 'cd "$0" && "$@"; echo "$?"'

_started: dict[str, int] = {}
"""Where the output of a started check can be read, by its name."""


def start() -> None:
    """Start all checks. This process, or one that is forked from it, asks for each result once."""
    _started.update({check: _start(check) for check in CHECKS})


def result(check: str) -> tuple[int, str]:
    """Return the exit code and the output of a check, which starts now if it has not started."""
    source = _started.pop(check) if check in _started else _start(check)
    with os.fdopen(source, encoding="utf-8") as stream:
        output, _, code = stream.read().rstrip("\n").rpartition("\n")
    return int(code), output


def _start(check: str) -> int:
    ours, theirs = os.pipe()
    command = ["sh", "-c", SCRIPT, str(ROOT), sys.executable, "-m", *CHECKS[check]]
    # subprocess would warn at the end of a process that has not asked for the result.
    os.posix_spawnp(
        "sh",
        command,
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, theirs, number) for number in (1, 2)],
    )
    os.close(theirs)
    return ours
