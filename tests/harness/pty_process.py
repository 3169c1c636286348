"""A program in a pseudo-terminal (pty): a test presses keys and reads the output."""

import codecs
import contextlib
import fcntl
import os
import pty
import queue
import re
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from waiting import PATIENCE

INTERRUPT, END_OF_INPUT = "\x03", "\x04"
ROWS, COLUMNS = 50, 200
# Colours, cursor movements and titles (ECMA-48), which a terminal does not show.
CONTROL = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_=>])")


class PtyProcess:
    """A program whose standard streams are a pseudo-terminal, which is its controlling terminal."""

    def __init__(
        self,
        args: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        echo: bool = True,
    ) -> None:
        """`echo` is whether the terminal shows what is typed."""
        self._terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        if not echo:
            modes = termios.tcgetattr(inner)
            modes[3] &= ~termios.ECHO
            termios.tcsetattr(inner, termios.TCSANOW, modes)
        self.popen = subprocess.Popen(
            args,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            cwd=cwd,
            env={**(os.environ if env is None else env), "TERM": "xterm-256color"},
            start_new_session=True,
            preexec_fn=control,
        )
        os.close(inner)
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.seen = ""

    def _read(self) -> None:
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        pending = ""
        # When the last program on the terminal has ended, reading raises OSError.
        with contextlib.suppress(OSError):
            while data := os.read(self._terminal, 65_536):
                *lines, pending = (pending + decode(data)).split("\n")
                for line in lines:
                    self._lines.put(_shown(line))
        if pending:
            self._lines.put(_shown(pending))
        self._lines.put(None)

    def type(self, text: str) -> None:
        """Press these keys."""
        data = text.encode()
        while data:
            data = data[os.write(self._terminal, data) :]

    def until(self, pattern: str) -> re.Match[str]:
        """Wait for the next line that matches."""
        while True:
            try:
                line = self._lines.get(timeout=PATIENCE)
            except queue.Empty:
                raise AssertionError(f"{pattern!r} is not in {self.seen}") from None
            assert line is not None, f"it ended before {pattern!r}: {self.seen}"
            self.seen += f"{line}\n"
            if matched := re.search(pattern, line):
                return matched

    def ended(self) -> int:
        """Wait for the end. Return the exit code; `seen` has everything that was shown."""
        while (line := self._lines.get(timeout=PATIENCE)) is not None:
            self.seen += f"{line}\n"
        return self.popen.wait(PATIENCE)

    def close(self) -> None:
        """End all programs on the terminal. A daemon would survive the hangup of its shell."""
        for number in self._session():
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.popen.wait()
        self._reader.join(PATIENCE)
        os.close(self._terminal)

    def _session(self) -> Iterator[int]:
        """The processes of the terminal's session that have not ended."""
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(ProcessLookupError):
                if entry.name.isdecimal() and os.getsid(int(entry.name)) == self.popen.pid:
                    yield int(entry.name)


def control() -> None:
    """Make the terminal the controlling terminal of the child, so that Ctrl-C interrupts it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _shown(line: str) -> str:
    return CONTROL.sub("", line).rstrip("\r")
