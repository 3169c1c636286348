"""The client side of the preload server. It imports little, so that `client.py` starts quickly."""

import ctypes
import json
import resource
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The option of prctl that makes a process the parent of orphans among its descendants.
PR_SET_CHILD_SUBREAPER = 36
# The beginnings of the names of variables that Python reads when it starts.
AT_START = ("PYTHON", "LC_", "LANG")


def ask(name: str, program: dict[str, Any], files: list[int]) -> socket.socket:
    """Ask the server of this name for a start. Return the connection with its answer."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(f"\0{name}")
    socket.send_fds(connection, [json.dumps(program).encode()], files)
    return connection


def start(name: str, program: dict[str, Any], files: list[int]) -> int:
    """Have the server fork a program. The server and the program are children of this process.

    Return the id of the process. Two threads must not do this at once.
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
    """Return the state of this process that its server, and each fork of the server, inherits.

    If a program needs another state, it must be started in full.
    """
    limits = {name: number for name, number in vars(resource).items() if name.startswith("RLIMIT_")}
    state: dict[str, Any] = {name: resource.getrlimit(number) for name, number in limits.items()}
    state |= {name: value for name, value in environment.items() if name.startswith(AT_START)}
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    # The file mode mask, the user, the group, the ignored signals and the capabilities.
    wanted = ("Umask:", "Uid:", "Gid:", "SigIgn:", "CapEff:")
    return state | {"status": [line for line in status if line.startswith(wanted)]}
