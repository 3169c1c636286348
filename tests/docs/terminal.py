"""Terminals with a shell, which the blocks of a page are typed into."""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from pty_process import INTERRUPT, PtyProcess

# The shell is interactive, because its input is a terminal. It ends at the first error.
SHELL = ("bash", "--norc", "--noprofile", "--noediting", "+H", "-eu")
SCRIPTS = Path(sys.executable).parent
QUIET = {"PS1": "", "PS2": "", "HISTFILE": "/dev/null", "PAGER": "cat"}


class Terminal:
    """A terminal with a shell that blocks are typed into, and what it shows."""

    def __init__(
        self,
        directory: Path,
        changes: dict[str, str],
        programs: Path = SCRIPTS,
        **environment: str,
    ) -> None:
        """`changes` maps texts of the blocks to their replacements, such as free ports. `programs`
        is the folder with the command `tocsin`.
        """
        self._changes = changes
        path = {"PATH": f"{programs}:{SCRIPTS}:{os.environ['PATH']}", "no_proxy": "*"}
        self._shell = PtyProcess(
            SHELL, cwd=directory, env={**os.environ, **path, **QUIET, **environment}, echo=False
        )
        self._blocks = 0

    def type(self, text: str) -> None:
        """Type a block."""
        for piece, other in self._changes.items():
            text = text.replace(piece, other)
        self._shell.type(text)

    def run(self, text: str) -> str:
        """Type a block, and wait until all of its commands have run. Return the output."""
        self.type(text)
        return self._done()

    def run_around(self, text: str, pause: str, meanwhile: Callable[[], object]) -> str:
        """Do the same as `run`, but call `meanwhile` in place of the line `pause` of the block."""
        before, after = text.split(f"{pause}\n")
        self.type(before)
        meanwhile()
        self.type(after)
        return self._done()

    def _done(self) -> str:
        self._blocks += 1
        self._shell.type(f"echo; echo done: {self._blocks}\n")
        before = len(self._shell.seen)
        self.until(f"^done: {self._blocks}$")
        return self._shell.seen[before:]

    def until(self, pattern: str) -> re.Match[str]:
        """Wait for the next line that matches, and return the match."""
        return self._shell.until(pattern)

    def interrupt(self) -> None:
        """End the running command with Ctrl-C. Then end the shell, and wait for its end."""
        self._shell.type(INTERRUPT)
        self._shell.type("exit\n")
        self._shell.ended()

    def close(self) -> None:
        self._shell.close()
