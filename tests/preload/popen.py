"""Makes `subprocess` and asyncio fork the product's programs from the preload server."""

import atexit
import inspect
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.preload.starting import inherited, start

HERE = Path(__file__).parent
MODULE = "hub.cli"
# Programs of the tests that do something before they run the product.
FILES = (str(HERE / "activated.py"),)
# The parameters of Popen that a fork can do without, and their defaults.
DEFAULTS = {
    "executable": None, "close_fds": True, "shell": False, "restore_signals": True,
    "gid": None, "gids": None, "uid": None, "umask": -1, "process_group": -1,
}  # fmt: skip
# Only Linux gives orphans to a parent that asks for them.
CAN_FORK = sys.platform == "linux"
PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


class PreloadServer:
    """A running `server.py`, for the process that has started it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.name = f"preload-{self.owner}-{os.urandom(8).hex()}"
        self.inherited = inherited(os.environ)
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "server.py"), self.name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        with self._process.stdout as said:
            assert said.readline() == b"listening\n"
        atexit.register(self._end)

    def _end(self) -> None:
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()


_servers: list[PreloadServer] = []
_lock = threading.Lock()


def preload_server() -> PreloadServer:
    """Return the server of this process. A forked process has one of its own."""
    if not _servers or _servers[-1].owner != os.getpid():
        _servers.append(PreloadServer())
    return _servers[-1]


def use_preloaded() -> None:
    """Have `subprocess` and asyncio fork the product's programs from now on, where they can."""
    if CAN_FORK:
        subprocess.Popen = PreloadedPopen  # type: ignore[misc] # That is the purpose.


class PreloadedPopen(subprocess.Popen):  # type: ignore[type-arg] # It is not generic at run time.
    """A Popen that forks `python -m hub.cli`. It starts all other programs as Popen does."""

    def _execute_child(self, *values: Any) -> None:
        # typeshed does not know what a subclass of Popen may replace.
        full_start = super()._execute_child  # type: ignore[misc]
        asked = inspect.signature(full_start).bind(*values).arguments
        path = _path(asked["args"])
        if path is None:
            full_start(*values)
            return
        with _lock:
            if not _can_be_forked(asked):
                full_start(*values)
                return
            self.pid = start(preload_server().name, _program(path, asked), _files(asked))
        self._child_created = True
        self._close_pipe_fds(*(asked[name] for name in PIPES))  # type: ignore[attr-defined]


def _path(args: Any) -> str | None:
    """Return the module or the file of a program that the server can run, or None."""
    words = list(args) if isinstance(args, list | tuple) else []
    if words[:3] == [sys.executable, "-m", MODULE]:
        return MODULE
    if words[:1] == [sys.executable] and words[1:2] and words[1] in FILES:
        return str(words[1])
    return None


def _can_be_forked(asked: dict[str, Any]) -> bool:
    before: Callable[[], object] | None = asked["preexec_fn"]
    return (
        all(asked[name] == value for name, value in DEFAULTS.items())
        and (before is None or before.__qualname__.isidentifier())
        and Path(asked["cwd"] or ".").is_dir()
        and inherited(_environment(asked)) == preload_server().inherited
    )


def _program(path: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the server's `Program`."""
    before = asked["preexec_fn"]
    return {
        "path": path,
        "arguments": [os.fspath(word) for word in asked["args"][3 if path == MODULE else 2 :]],
        "environment": _environment(asked),
        "folder": str(Path(asked["cwd"] or ".").resolve()),
        "files": [0, 1, 2, *asked["pass_fds"]],
        "session": asked["start_new_session"],
        "before": f"{before.__module__}:{before.__qualname__}" if before else "",
    }


def _environment(asked: dict[str, Any]) -> dict[str, str]:
    return dict(os.environ if asked["env"] is None else asked["env"])


def _files(asked: dict[str, Any]) -> list[int]:
    given = (asked["p2cread"], asked["c2pwrite"], asked["errwrite"])
    streams = [own if number == -1 else number for own, number in enumerate(given)]
    return [*streams, *asked["pass_fds"]]
