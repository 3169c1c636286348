"""A machine for tests: namespaces over an overlay of the root, booted by a real systemd."""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from waiting import PATIENCE, wait_until

HERE = Path(__file__).parent
PROJECT = HERE.parents[2]
CLONE_NEWNET = 0x40000000
# A Python at another path than its build's may look for its library at the old path.
PROGRAM = """#!/bin/sh
LD_LIBRARY_PATH=/opt/python/lib exec /opt/tocsin/bin/python -m hub.cli "$@"
"""


def missing() -> str | None:
    """Return the reason why this host cannot run the machine, or None."""
    if os.geteuid() != 0:
        return "needs root"
    for name in ("unshare", "nsenter", "ip", "systemctl"):
        if shutil.which(name) is None:
            return f"needs {name}"
    if not Path("/lib/systemd/systemd").exists():
        return "needs systemd"
    tried = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--cgroup", "--net", "--uts", "--ipc",
         "sh", "-c", "mount -t tmpfs tmpfs /mnt && mkdir /mnt/a /mnt/b /mnt/c &&"
         " mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/a,workdir=/mnt/b /mnt/c &&"
         " mount -t cgroup2 cgroup2 /mnt/c/mnt"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return f"needs namespaces: {tried.stderr.strip()}" if tried.returncode else None


class Machine:
    """A booted machine. Commands run in it as root, with its network, files and processes."""

    def __init__(self, pid: int) -> None:
        self._enter = ["nsenter", "--target", str(pid), "-m", "-u", "-i", "-n", "-p", "--"]
        self.pid = pid

    def run(
        self, *command: str, code: int | None = 0, stdin: str | None = None, **environment: str
    ) -> str:
        """Run a command that must end with `code`, if that is not None. Return its output."""
        path = "PATH=/opt/tocsin/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        variables = [f"{name}={value}" for name, value in environment.items()]
        done = subprocess.run(
            [*self._enter, "env", "-i", path, *variables, *command],
            capture_output=True, text=True, check=False, timeout=PATIENCE,
            input=stdin or "",
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert code is None or done.returncode == code, f"{command}: {said}\n{self.journal()}"
        return done.stdout if code == 0 else said

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a process of this machine's tocsin, with pipes for its input and output."""
        return subprocess.Popen(
            [*self._enter, "env", "-i", "LD_LIBRARY_PATH=/opt/python/lib", *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def write(self, path: str, text: str, mode: str = "644") -> None:
        """Write a file in the machine."""
        self.run("mkdir", "-p", str(Path(path).parent))
        self.run("sh", "-c", f"cat > {path} && chmod {mode} {path}", stdin=text)

    def show(self, unit: str, *properties: str) -> dict[str, str]:
        """Properties of a unit."""
        said = self.run("systemctl", "show", unit, "--property", ",".join(properties))
        return dict(line.split("=", 1) for line in said.splitlines())

    def main(self, unit: str = "tocsin.service") -> int:
        """Return a service's main process id in the machine's PID namespace; 0 for none."""
        return int(self.show(unit, "MainPID")["MainPID"])

    def journal(self, *options: str) -> str:
        """The lines of the journal."""
        done = subprocess.run(
            [*self._enter, "journalctl", "--no-pager", "--output=cat", *options],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stdout + done.stderr

    def until(self, condition: Callable[[], Any], what: str) -> None:
        """Wait until `condition()` holds. A failure shows `what` and the journal."""
        wait_until(condition, lambda: f"{what}\n{self.journal()}", pause=0.05)

    @contextlib.contextmanager
    def network(self) -> Iterator[None]:
        """Sockets made by this thread during the block are in the machine's network."""
        with open(f"/proc/{self.pid}/ns/net") as inside, open("/proc/thread-self/ns/net") as ours:  # noqa: PTH123 - what counts is the descriptor
            _enter_network(inside.fileno())
            try:
                yield
            finally:
                _enter_network(ours.fileno())


def _enter_network(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def booted(folder: Path) -> Iterator[Machine]:
    """A machine for the length of the block, with this Python's tocsin in /opt/tocsin."""
    folder.mkdir(exist_ok=True)
    with (folder / "said").open("w") as said:
        supervisor = subprocess.Popen(
            ["unshare", "--mount", "bash", HERE / "machine_outer.sh", folder,
             PROJECT, sysconfig.get_path("purelib"), sys.base_prefix],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True,
        )  # fmt: skip
    assert supervisor.stdin is not None
    assert supervisor.stdout is not None
    try:
        outside = int(supervisor.stdout.readline())
        try:
            machine = _boot(outside)
        except AssertionError as error:
            raise AssertionError((folder / "said").read_text()) from error
        yield machine
    finally:
        supervisor.stdin.close()
        try:
            supervisor.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            supervisor.send_signal(signal.SIGKILL)
            supervisor.wait()
        supervisor.stdout.close()


def _boot(outside: int) -> Machine:
    """Wait until systemd has started everything, then install tocsin into /opt/tocsin."""
    machine: Machine = wait_until(lambda: _first_process(outside), "the machine's first process")
    states: list[str] = []

    def running() -> bool:
        states.append(machine.run("systemctl", "is-system-running", code=None).strip())
        return states[-1] == "running"

    wait_until(running, lambda: f"the machine to boot: {states[-1]}", pause=0.1)
    python = f"/opt/python/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    machine.run(python, "-m", "venv", "--without-pip", "/opt/tocsin")
    packages = f"/opt/tocsin/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    machine.write(f"{packages}/tocsin.pth", "/opt/project\n/opt/packages\n")
    machine.write("/opt/tocsin/bin/tocsin", PROGRAM, "755")
    return machine


def _first_process(outside: int) -> Machine | None:
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{outside}/task/{outside}/children").read_text().split():
            if Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                return Machine(int(child))
    return None
