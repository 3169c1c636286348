"""`tocsin` for the shells of tests: a small program that has the preload server fork the product.

It passes signals on to the product, and ends with the product's exit code or signal.
"""

from __future__ import annotations

import os
import sys

# The module `signal` imports `enum`, which takes as long as the rest of a start.
from _signal import (  # type: ignore[import-not-found] # typeshed has only `signal`
    SIG_DFL,
    SIGHUP,
    SIGINT,
    SIGTERM,
    signal,
)

from tests.preload.starting import ask, inherited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType
    from typing import Any

FULL = os.path.join(os.path.dirname(sys.executable), "tocsin")  # noqa: PTH118, PTH120 - as above
PASSED_ON = (SIGHUP, SIGINT, SIGTERM)


def write_command(folder: Path) -> Path:
    """Write `tocsin` to a folder. Return the folder in which the command is."""
    from tests.preload.popen import CAN_FORK, HERE, preload_server

    if not CAN_FORK:
        return folder.__class__(FULL).parent
    server = preload_server()
    command = folder / "tocsin"
    # Without site-packages, the command starts in a fiftieth of a second.
    command.write_text(
        f"#!{sys.executable} -IS\nimport sys\n"
        f"sys.path.append({str(HERE.parents[1])!r})\n"
        f"from tests.preload.client import run\nrun({server.name!r}, {server.inherited!r})\n",
        encoding="utf-8",
    )
    command.chmod(0o755)
    return folder


def run(server: str, expected: dict[str, Any]) -> None:
    """Run the command in a fork of the server.

    If this process has another state than the `expected` one, which the server inherited, start the
    command in full.
    """
    if inherited(os.environ) != expected:
        os.execv(FULL, [FULL, *sys.argv[1:]])  # noqa: S606 - the command itself
    program = {
        "path": "hub.cli",
        "arguments": sys.argv[1:],
        "environment": dict(os.environ),
        "folder": os.getcwd(),  # noqa: PTH109 - without `pathlib`
        "files": [0, 1, 2],
        "kept": True,
    }
    connection = ask(server, program, [0, 1, 2])
    connection.recv(10)

    def pass_on(number: int, frame: FrameType | None) -> None:
        connection.send(str(number).encode())

    for number in PASSED_ON:
        signal(number, pass_on)
    code = int(connection.recv(10))
    if code < 0:
        signal(-code, SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
