"""Shells that the blocks of a page are typed into."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from waiting import PATIENCE


class Terminal:
    """A shell that blocks are typed into, and what it prints."""

    def __init__(self, directory: Path, changes: dict[str, str], **environment: str) -> None:
        """`changes`: pieces of the blocks to other ones, such as ports that are free."""
        self._changes = changes
        scripts = Path(sys.executable).parent
        self.process = subprocess.Popen(
            ["bash", "-eu"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            cwd=directory,
            env={
                **os.environ,
                "PATH": f"{scripts}:{os.environ['PATH']}",
                "no_proxy": "*",
                **environment,
            },
            start_new_session=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.seen = ""
        self._blocks = 0

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def type(self, text: str) -> None:
        """Type a block."""
        assert self.process.stdin is not None
        self.process.stdin.write(self._changed(text))

    def _changed(self, text: str) -> str:
        for piece, other in self._changes.items():
            text = text.replace(piece, other)
        return text

    def run(self, text: str) -> str:
        """Type a block, and wait until all of it was done; returns the output."""
        self.type(text)
        return self._done()

    def run_around(self, text: str, pause: str, meanwhile: Callable[[], object]) -> str:
        """The same with a block in which a line is a pause, in whose place `meanwhile` is done."""
        before, after = text.split(f"{pause}\n")
        self.type(before)
        meanwhile()
        self.type(after)
        return self._done()

    def _done(self) -> str:
        assert self.process.stdin is not None
        self._blocks += 1
        self.process.stdin.write(f"echo; echo done: {self._blocks}\n")
        before = len(self.seen)
        self.until(f"^done: {self._blocks}$")
        return self.seen[before:]

    def until(self, pattern: str) -> re.Match[str]:
        """The next line that matches."""
        while True:
            try:
                line = self._lines.get(timeout=PATIENCE)
            except queue.Empty:
                raise AssertionError(f"{pattern!r} is not in {self.seen}") from None
            assert line is not None, f"it ended before {pattern!r}: {self.seen}"
            self.seen += line
            if matched := re.search(pattern, line.rstrip("\n")):
                return matched

    def interrupt(self) -> None:
        """Ctrl-C: what runs in it ends; then the shell, for nothing more is typed."""
        os.killpg(self.process.pid, signal.SIGINT)
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
