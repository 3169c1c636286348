"""The preload server: it has imported the product, and forks a process for each start.

`python server.py SOCKET` listens on an abstract socket of this name. A request is a `Program`,
marshalled, together with the program's open files. The response is the id of the process.
"""

import atexit
import contextlib
import ctypes
import faulthandler
import fcntl
import gc
import marshal
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGES = ("store", "worker", "hub")
# Modules that a daemon imports late. The codec is for the names of hosts.
LATE = ("apscheduler.executors.asyncio", "apscheduler.triggers.cron", "encodings.idna", "uvloop",
        "uvicorn.lifespan.on")  # fmt: skip
# This module lowers the cost of a password's hash in all forks. A daemon hashes a password also for
# a login that does not exist.
CHEAP = "cheap_passwords"
LONGEST = 200_000
"""The longest request in bytes. The kernel takes no longer message."""
MOST_FILES = 20
# Received files first get numbers from here on, so that none has the number that another one needs.
ASIDE = 200


@dataclass(frozen=True)
class Program:
    """The request to start a program."""

    path: str
    """A module's name, or a file's path."""
    arguments: list[str]
    environment: dict[str, str]
    folder: str
    files: list[int]
    """The numbers that the program's open files get."""
    session: bool = False
    """Whether the program leads a new session."""
    before: str = ""
    """A function that is called before the program, as `module:function`, or nothing."""
    kept: bool = False
    """Whether a keeper process waits for the program's end and sends the exit code. Otherwise, the
    program becomes a child of the client, which must be the parent of this server.
    """


def import_product() -> None:
    for package in PACKAGES:
        for found in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if not found.name.endswith("__main__"):
                import_module(found.name)
    for name in LATE:
        with contextlib.suppress(ImportError):
            import_module(name)
    _build_models(import_module("pydantic").BaseModel)
    import_module(CHEAP)


def _build_models(above: Any) -> None:
    """Build the models whose building the product defers until their first use."""
    for model in above.__subclasses__():
        if not model.__pydantic_complete__:
            model.model_rebuild()
        _build_models(model)


def answer_starts(listener: socket.socket) -> Program:
    """Fork for each request, for ever. Return in a forked process, with its program."""
    while True:
        connection, _ = listener.accept()
        with connection:
            message, files, _, _ = socket.recv_fds(connection, LONGEST, MOST_FILES)
            if message:
                # Only the tests write to the socket.
                program = Program(**marshal.loads(message))  # noqa: S302
                pid = _fork_kept(connection) if program.kept else _fork_orphan()
                if not pid:
                    listener.close()
                    connection.close()
                    _place(files, program.files)
                    return program
                connection.send(str(pid).encode())
            for file in files:
                os.close(file)
        _collect_keepers()


def _fork_orphan() -> int:
    """Fork a process whose parent has ended, so that the process that adopts orphans becomes its
    parent.

    Return its number, and 0 in the new process.
    """
    ours, theirs = os.pipe()
    between = os.fork()
    if between:
        os.close(theirs)
        pid = int(os.read(ours, 10))
        os.close(ours)
        os.waitpid(between, 0)
        return pid
    pid = os.fork()
    if pid:
        os.write(theirs, str(pid).encode())
        os._exit(0)
    os.close(ours)
    os.close(theirs)
    return 0


def _fork_kept(connection: socket.socket) -> int:
    """Fork a process and its keeper, which sends the exit code through the connection.

    Return the number of the keeper, and 0 in the new process.
    """
    keeper = os.fork()
    if keeper:
        return keeper
    pid = os.fork()
    if not pid:
        return 0
    _pass_on(connection, pid)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(OSError):
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _pass_on(connection: socket.socket, pid: int) -> None:
    """Send a child the signals that come through the connection. Return when it has ended.

    Kill it when the connection is closed.
    """
    ended = os.pidfd_open(pid)
    while ended not in select.select([ended, connection.fileno()], [], [])[0]:
        number = connection.recv(10)
        os.kill(pid, int(number or signal.SIGKILL))
        if not number:
            return


def _collect_keepers() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _place(files: list[int], numbers: list[int]) -> None:
    aside = [fcntl.fcntl(file, fcntl.F_DUPFD, ASIDE) for file in files]
    for file in files:
        os.close(file)
    for file, number in zip(aside, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)


def become(program: Program) -> None:
    """Run the program in this process."""
    if program.session:
        os.setsid()
    if program.before:
        module, _, function = program.before.partition(":")
        getattr(import_module(module), function)()
    os.chdir(program.folder)
    sys.path[0] = program.folder
    os.environ.clear()
    os.environ.update(program.environment)
    time.tzset()
    _open_streams()
    # A test that has waited too long sends SIGABRT, and reads the stacks.
    faulthandler.enable()
    sys.argv[1:] = program.arguments
    gc.enable()
    run: Any = runpy.run_path if os.sep in program.path else runpy.run_module
    more = {} if os.sep in program.path else {"alter_sys": True}
    run(program.path, run_name="__main__", **more)


def end_early(codes: list[int]) -> None:
    """End this process with the exit code of its program, before Python takes itself apart.

    Python has called all that the program registered for its end. Then it would touch each module
    and each type. In a fork, this copies a fifth of the server's memory, which takes longer than
    most programs. Programs that are started in full end in full, too.
    """
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        return  # Python reports it, and has an exit code of its own for it.
    if codes:
        # Unlike `os._exit`, this calls what libraries have registered.
        ctypes.PyDLL(None).exit(codes[0])


def _open_streams() -> None:
    """Open the standard streams as Python does when it starts."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        old = getattr(sys, name)
        new = open(  # noqa: SIM115 - It stays open.
            number, mode, 1 if name == "stderr" else -1, old.encoding, old.errors, closefd=False
        )
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def main() -> None:
    gc.disable()
    # `Program.before` can be a function of the tests.
    tests = Path(__file__).parents[1]
    sys.path += [str(tests), str(tests / "harness"), str(tests / "running")]
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(f"\0{sys.argv[1]}")
    # Clients may connect before everything is imported, and then wait for the response.
    listener.listen(100)
    print("listening", flush=True)
    codes: list[int] = []
    # It is registered before all others, so it is called after them.
    atexit.register(end_early, codes)
    import_product()
    gc.freeze()
    try:
        become(answer_starts(listener))
    except SystemExit as end:
        # Python itself reports any other code.
        codes += [end.code or 0] if isinstance(end.code, int | None) else []
        raise


if __name__ == "__main__":
    main()
