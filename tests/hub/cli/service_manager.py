"""A service manager for tests of `tocsin serve`."""

import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

from waiting import PATIENCE

ACTIVATED = Path(__file__).parents[2] / "preload" / "activated.py"


class Manager:
    """A service manager: a notification socket, a listening socket, and the daemon's process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reported = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.reported.bind(str(folder / "notify"))
        self.reported.settimeout(PATIENCE)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.heard: list[str] = []
        self.process: subprocess.Popen[str] | None = None

    def start(self, *args: str, activated: bool = True, **environment: str) -> None:
        given = {"NOTIFY_SOCKET": str(self.folder / "notify"), "TOCSIN_LOG_FORMAT": "human"}
        given |= environment
        number = self.listening.fileno()
        command = [str(ACTIVATED), str(number)] if activated else ["-m", "hub.cli"]
        self.process = subprocess.Popen(
            [sys.executable, *command, "serve", *args],
            pass_fds=[number],
            env={**os.environ, "TOCSIN_CONFIG": str(self.folder / "tocsin.toml"), **given},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until(self, line: str) -> list[str]:
        """Receive messages until one has a line that matches. Return them."""
        began = len(self.heard)
        while not any(re.search(line, text, re.MULTILINE) for text in self.heard[began:]):
            self.heard.append(self._next(line))
        return self.heard[began:]

    def _next(self, wanted: str) -> str:
        try:
            return self.reported.recv(4096).decode()
        except TimeoutError:
            assert self.process is not None
            self.process.kill()
            raise AssertionError(f"no {wanted}: {self.heard}, {self.ended()}") from None

    def logged(self, line: str) -> None:
        """Wait for a line of the log that matches. `ended` then returns only the later lines."""
        assert self.process is not None
        assert self.process.stderr is not None
        late = threading.Timer(PATIENCE, self.process.kill)
        late.start()
        try:
            assert any(re.search(line, text) for text in self.process.stderr), f"no {line}"
        finally:
            late.cancel()

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def ended(self) -> tuple[int, str]:
        assert self.process is not None
        _, said = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.reported.close()
        self.listening.close()
