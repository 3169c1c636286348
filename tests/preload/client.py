"""`tocsin` for the shells of tests: a small program that has the preload server fork the product.

It passes signals on to the product, and ends with the product's exit code or signal.
"""

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from preload.starting import ask, inherited

FULL = Path(sys.executable).with_name("tocsin")
PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def write_command(folder: Path) -> Path:
    """Write `tocsin` to a folder. Return the folder in which the command is."""
    from preload.popen import CAN_FORK, preload_server

    if not CAN_FORK:
        return FULL.parent
    server = preload_server()
    command = folder / "tocsin"
    # Without site-packages, the command starts in a fiftieth of a second.
    command.write_text(
        f"#!{sys.executable} -IS\nimport sys\n"
        f"sys.path.append({str(Path(__file__).parents[1])!r})\n"
        f"from preload.client import run\nrun({server.name!r}, {server.inherited!r})\n",
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
        os.execv(FULL, [str(FULL), *sys.argv[1:]])  # noqa: S606 - the command itself
    program = {
        "path": "hub.cli",
        "arguments": sys.argv[1:],
        "environment": dict(os.environ),
        "folder": str(Path.cwd()),
        "files": [0, 1, 2],
        "kept": True,
    }
    with ask(server, program, [0, 1, 2]) as connection:
        connection.recv(10)

        def pass_on(number: int, frame: FrameType | None) -> None:
            connection.send(str(number).encode())

        for number in PASSED_ON:
            signal.signal(number, pass_on)
        code = int(connection.recv(10))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
