"""Real Mercurial repositories, which a server of hg's commands writes and reads."""

import atexit
import os
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import IO

ENVIRONMENT = {"HGRCPATH": "", "HGENCODING": "UTF-8"}


class CommandServer:
    """hg's own server, which runs one command after another.

    A start of hg takes a fifth of a second of a processor, nearly all of it for imports.
    """

    def __init__(self) -> None:
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("hg")), "serve", "--cmdserver", "pipe"],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ENVIRONMENT,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._asked: IO[bytes] = process.stdin
        self._said: IO[bytes] = process.stdout
        self._message()
        atexit.register(self._end)

    def run(self, *command: str) -> tuple[int, str, str]:
        """Run a command. Return its exit code, its output and its errors."""
        words = "\0".join(command).encode()
        self._asked.write(b"runcommand\n" + struct.pack(">I", len(words)) + words)
        self._asked.flush()
        said = {b"o": b"", b"e": b""}
        channel, data = self._message()
        while channel != b"r":
            said[channel] += data
            channel, data = self._message()
        return struct.unpack(">i", data)[0], said[b"o"].decode(), said[b"e"].decode()

    def _message(self) -> tuple[bytes, bytes]:
        channel, length = struct.unpack(">cI", self._said.read(5))
        return channel, self._said.read(length)

    def _end(self) -> None:
        # It also ends if this process is killed, because its standard input ends then.
        self._asked.close()
        self._process.wait()
        self._said.close()


@cache
def command_server() -> CommandServer:
    """Return the server of this process."""
    return CommandServer()


def hg(folder: Path, *command: str) -> str:
    """Run hg in a folder and return its output."""
    code, output, errors = command_server().run("--cwd", str(folder), *command)
    assert code == 0, errors
    return output.strip()


def wrote(repo: Path, name: str, content: bytes, who: str = "Ada <ada@tower.example>") -> None:
    """Write a file and commit it."""
    (repo / name).parent.mkdir(exist_ok=True)
    (repo / name).write_bytes(content)
    hg(repo, "commit", "-A", "-q", "-m", f"Ring {name}", "-u", who, "-d", "1700000000 -3600")
