"""The side of those who ask the server for a start. It imports little: see `client.py`."""

import ctypes
import json
import resource
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The request of prctl to become the parent of orphans among the descendants.
PR_SET_CHILD_SUBREAPER = 36
# Python reads these when it starts.
AT_START = ("PYTHON", "LC_", "LANG")


def ask(name: str, program: dict[str, Any], files: list[int]) -> socket.socket:
    """Ask the server of this name for a start. Return the connection with its answer."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(f"\0{name}")
    socket.send_fds(connection, [json.dumps(program).encode()], files)
    return connection


def start(name: str, program: dict[str, Any], files: list[int]) -> int:
    """Have the server, a child of this process, fork a program. It becomes another child.

    Return the number of the process. Two threads must not do this at once.
    """
    adopt_orphans(True)
    try:
        with ask(name, program, files) as connection:
            return int(connection.recv(10))
    finally:
        adopt_orphans(False)


def adopt_orphans(enabled: bool) -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(enabled))


def inherited(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return what a fork of the server would have from the server.

    A program that wants another state needs a start of its own.
    """
    limits = {name: number for name, number in vars(resource).items() if name.startswith("RLIMIT_")}
    state: dict[str, Any] = {name: resource.getrlimit(number) for name, number in limits.items()}
    state |= {name: value for name, value in environment.items() if name.startswith(AT_START)}
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    # Among them are the mask of files and the rights.
    wanted = ("Umask:", "Uid:", "Gid:", "SigIgn:", "CapEff:")
    return state | {"status": [line for line in status if line.startswith(wanted)]}
