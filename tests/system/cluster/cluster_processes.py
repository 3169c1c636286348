"""Hub and worker processes that tests kill and restart, and their receiver."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster_database import Server
from waiting import PATIENCE, wait_until

TOCSIN = [sys.executable, "-m", "hub.cli"]
AT_WORK = "tocsin is at work"


class Process:
    """A running `tocsin`, whose output goes to its own log file."""

    def __init__(self, folder: Path, name: str, *args: str, **environment: object) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        given = {f"TOCSIN_{key.upper()}": str(value) for key, value in environment.items()}
        clean = {key: value for key, value in os.environ.items() if not key.startswith("TOCSIN_")}
        with self.log.open("w") as log:
            self.popen = subprocess.Popen(
                [*TOCSIN, *args], stdout=log, stderr=log, cwd=folder, env={**clean, **given}
            )

    def said(self) -> str:
        return self.log.read_text()

    def waits_for(self, text: str) -> None:
        wait_until(lambda: text in self.said() or self.ended, f"{text!r} in {self.name}")
        assert text in self.said(), self.said()

    @property
    def at_work(self) -> bool:
        return AT_WORK in self.said() and not self.ended

    @property
    def ended(self) -> bool:
        return self.popen.poll() is not None

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait(PATIENCE)

    def end(self) -> int:
        """Send SIGTERM, and return the exit code."""
        self.popen.send_signal(signal.SIGTERM)
        return self.popen.wait(PATIENCE)


class Installation:
    """Hubs and workers on one database, with one key."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder = folder
        self.settings: dict[str, object] = {
            "store": store,
            "data_dir": folder,
            "key_file": folder / "secret.key",
            "allow_networks": "127.0.0.0/8",
        }
        self.running: dict[str, Process] = {}
        self._started = 0

    def start(self, name: str, *args: str, **settings: object) -> Process:
        """Start a process. Its user agent is unique, so that the receiver can identify it."""
        self._started += 1
        made = Process(
            self.folder,
            f"{name}.{self._started}",
            "serve",
            *args,
            **{**self.settings, "user_agent": f"{name}.{self._started}", **settings},
        )
        self.running[name] = made
        return made

    def hub(self, name: str, port: int) -> Process:
        return self.start(name, "--only", "hub", "--port", str(port))

    def worker(self, name: str) -> Process:
        return self.start(name, "--only", "worker")

    def at_work(self) -> None:
        for process in self.running.values():
            process.waits_for(AT_WORK)

    def all_at_work(self) -> bool:
        return all(process.at_work for process in self.running.values())

    def last_lines(self) -> str:
        """Return the exit code and the last line of each process, for messages."""
        return "\n".join(
            f"{one.name}: {one.popen.poll()} {one.said()[-300:]}" for one in self.running.values()
        )

    def close(self) -> None:
        for process in self.running.values():
            if not process.ended:
                process.kill()


@dataclass(slots=True)
class Receipt:
    """A delivery as it arrived; `at` is in seconds since the epoch."""

    at: float
    path: str
    guid: str
    agent: str


class Receiver:
    """Reads the deliveries that arrived so far from the receiver's log."""

    def __init__(self, log: Path, port: int) -> None:
        self._log = log.open(encoding="utf-8")
        self._hold = log.with_name("hold")
        self._half = ""
        self.url = f"http://127.0.0.1:{port}"
        self.receipts: list[Receipt] = []
        self._arrived: set[tuple[str, str]] = set()

    def look(self) -> list[Receipt]:
        lines = (self._half + self._log.read()).split("\n")
        self._half = lines.pop()
        for line in lines:
            at, path, guid, agent = line.split(" ")
            self.receipts.append(Receipt(float(at), path, guid, agent))
            self._arrived.add((guid, path))
        return self.receipts

    def arrived(self) -> set[tuple[str, str]]:
        """Return the delivery ids and the paths of the deliveries that arrived so far."""
        self.look()
        return self._arrived

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Let requests arrive and have no answer during the block."""
        self._hold.touch()
        yield
        self._hold.unlink()

    def close(self) -> None:
        self._log.close()


@contextmanager
def receiving(folder: Path) -> Iterator[Receiver]:
    """Run a receiver in its own process for the block."""
    log = folder / "received"
    program = Path(__file__).with_name("cluster_receiver.py")
    process = subprocess.Popen(
        [sys.executable, program, log], stdout=subprocess.PIPE, text=True, cwd=folder
    )
    assert process.stdout is not None
    try:
        with closing(Receiver(log, int(process.stdout.readline()))) as receiver:
            yield receiver
    finally:
        process.kill()
        process.communicate()


class Deployment:
    """An installation with its database, a receiver of its deliveries, and a token for it."""

    def __init__(
        self, installation: Installation, server: Server, receiver: Receiver, token: str
    ) -> None:
        self.installation = installation
        self.server = server
        self.receiver = receiver
        self.token = token
