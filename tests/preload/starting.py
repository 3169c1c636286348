"""The client side of the preload server. It imports little, so that `client.py` starts quickly."""

from __future__ import annotations

import marshal
import resource
import sys

# The module `socket` imports `enum`, `re` and more, which takes as long as the rest of a start.
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_SEQPACKET, SOL_SOCKET, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# The option of prctl that makes a process the parent of orphans among its descendants.
PR_SET_CHILD_SUBREAPER = 36
# The beginnings of the names of variables that Python reads when it starts.
AT_START = ("PYTHON", "LC_", "LANG")


def ask(name: str, program: dict[str, Any], files: list[int]) -> socket:
    """Ask the server of this name for a start. Return the connection with its answer."""
    connection = socket(AF_UNIX, SOCK_SEQPACKET)
    connection.connect(f"\0{name}")
    passed = b"".join(file.to_bytes(4, sys.byteorder) for file in files)
    connection.sendmsg([marshal.dumps(program)], [(SOL_SOCKET, SCM_RIGHTS, passed)])
    return connection


def start(name: str, program: dict[str, Any], files: list[int]) -> int:
    """Have the server fork a program. The server and the program are children of this process.

    Return the id of the process. Two threads must not do this at once.
    """
    adopt_orphans(True)
    try:
        connection = ask(name, program, files)
        answer = connection.recv(10)
        connection.close()
        return int(answer)
    finally:
        adopt_orphans(False)


def adopt_orphans(enabled: bool) -> None:
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(enabled))


def inherited(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the state of this process that its server, and each fork of the server, inherits.

    If a program needs another state, it must be started in full.
    """
    limits = {name: number for name, number in vars(resource).items() if name.startswith("RLIMIT_")}
    state: dict[str, Any] = {name: resource.getrlimit(number) for name, number in limits.items()}
    state |= {name: value for name, value in environment.items() if name.startswith(AT_START)}
    with open("/proc/self/status", encoding="utf-8") as file:  # noqa: PTH123 - without `pathlib`
        status = file.read().splitlines()
    # The file mode mask, the user, the group, the ignored signals and the capabilities.
    wanted = ("Umask:", "Uid:", "Gid:", "SigIgn:", "CapEff:")
    return state | {"status": [line for line in status if line.startswith(wanted)]}
