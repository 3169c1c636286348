"""The server processes that are measured."""

import contextlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

SERVE = ("-c", "from hub.cli import main; main()")
START = 30.0
END = 20.0
MB = 1024 * 1024


@dataclass(slots=True)
class Server:
    """A running `tocsin serve`, or a stand-in for it."""

    pid: int
    port: int

    def cpu(self) -> float:
        """Seconds of processor time so far, all threads together."""
        return _cpu(self.pid)

    def senders_cpu(self) -> float:
        """Seconds of processor time of its sender processes so far."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return sum(_cpu(int(child)) for child in children)

    def memory(self, name: str = "VmRSS") -> float:
        """Resident megabytes, now (VmRSS) or at most so far (VmHWM)."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024 / MB
        raise LookupError(name)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def serving(
    directory: Path,
    *,
    store: str = "sqlite",
    only: str | None = None,
    program: tuple[str, ...] = SERVE,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Server]:
    """Run `tocsin serve` on a data directory for the block. `only` names the hub or the worker, if
    the other one must not run. A worker has port 0.
    """
    environment = os.environ | {
        "TOCSIN_DATA_DIR": str(directory),
        "TOCSIN_STORE": store,
        "TOCSIN_ALLOW_NETWORKS": "127.0.0.0/8",
        "TOCSIN_LOG_LEVEL": "error",
        **settings,
    }
    part = ["--only", only] if only else []
    process = subprocess.Popen(
        [sys.executable, *program, "serve", *part, "--port", "0"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        said = _started(process, "at work" if only == "worker" else "http://")
        yield Server(process.pid, 0 if only == "worker" else int(said.rpartition(":")[2]))
    finally:
        end(process)


def _started(process: "subprocess.Popen[str]", word: str) -> str:
    """Return the first line of a server's output. Raise RuntimeError if it lacks `word`."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START)
    said = process.stdout.readline() if ready else ""
    if word not in said:
        raise RuntimeError(f"the server did not start: {said!r}")
    return said


def end(process: "subprocess.Popen[str]") -> None:
    """Terminate a process. Kill it if it has not ended after END seconds."""
    process.terminate()
    try:
        process.wait(END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def wait_for(path: Path) -> str:
    """Wait for the first lines that a new process writes into a file. Return them."""
    limit = time.monotonic() + START
    while time.monotonic() < limit:
        if path.exists() and (text := path.read_text()).endswith("\n"):
            return text
        time.sleep(0.01)
    raise TimeoutError(path)
