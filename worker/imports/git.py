"""Running of programs for imports, above all git.

They run without the machine's settings and prompts and against judged addresses only. They end when
they are not needed any more.
"""

import asyncio
import contextlib
import errno
import os
import re
import resource
import shutil
import signal
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LineCallback = Callable[[str], None]
"""Called with each line that a program writes to standard error, including progress."""

# The worker holds and splits it on its event loop. A remote's server decides how long it is.
MOST_OUTPUT = 32 * 1024 * 1024
LINES_KEPT = 20
LONGEST_LINE = 4_096
PASSED_ON = ("PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "TMPDIR")
USER, PASSWORD = "TOCSIN_IMPORT_USER", "TOCSIN_IMPORT_PASSWORD"
# git runs this for credentials. They are in its environment, and so on no command line.
HELPER = (
    f'!f() {{ test "$1" = get && printf "username=%s\\npassword=%s\\n" "${USER}" "${PASSWORD}"; }};'
    " f"
)
SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.logAllRefUpdates": "false",
    "core.fsync": "all",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "receive.autogc": "false",
    "init.defaultBranch": "main",
    "protocol.version": "2",
    # All objects are kept in packs, even if they are few.
    "transfer.unpackLimit": "1",
    # A server must not redirect git to an address that the guard has not judged.
    "http.followRedirects": "false",
    "http.proxy": "",
    "transfer.bundleURI": "false",
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "120",
    # git maps packs into memory, and these keep within the limit of its address space.
    "core.packedGitLimit": "512m",
    "core.packedGitWindowSize": "32m",
    "pack.threads": "4",
    "pack.windowMemory": "256m",
}
# The shell sets the limit, because Python cannot do it safely beside threads. `$0` is the limit.
LIMITED = ("/bin/sh", "-c", 'ulimit -v "$0" && exec "$@"')
PROGRESS = re.compile(r"(?P<what>Compressing|Receiving|Resolving|Writing) \w+: +(?P<percent>\d+)%")


class CommandFailed(Exception):
    """A program ended with an error or could not be started. `said` are its last lines."""

    def __init__(self, program: str, code: int, said: Sequence[str] = ()) -> None:
        super().__init__(program, code, *said)
        self.program, self.code, self.said = program, code, said

    def __str__(self) -> str:
        errors = [line for line in self.said if line.startswith(("fatal:", "error:", "abort:"))]
        return f"{self.program}: {' '.join(errors or self.said[-1:]) or f'exit code {self.code}'}"

    def says_any(self, signs: Sequence[str]) -> bool:
        """Return whether one of these texts is in the last lines."""
        return any(sign in line for line in self.said for sign in signs)


@dataclass(frozen=True, slots=True)
class Remote:
    """The URL that a repository is fetched from.

    `resolved` is its host, port and judged addresses in the form that curl takes. It is empty if
    the host is an address.
    """

    url: str
    resolved: str = ""
    username: str | None = None
    password: str | None = field(default=None, repr=False)


def environment(home: Path, remote: Remote | None = None) -> dict[str, str]:
    """Return the environment of a program.

    It has none of the machine's or the user's settings of git.
    """
    found = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    found |= {
        "HOME": str(home),
        "LC_ALL": "C",
        # The C library would reserve much address space for each thread.
        "MALLOC_ARENA_MAX": "2",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "file" if remote is None else "http:https",
    }
    settings = dict(SETTINGS)
    if remote is not None and remote.resolved:
        settings["http.curloptResolve"] = remote.resolved
    if remote is not None and (remote.username or remote.password):
        settings["credential.helper"] = HELPER
        found |= {USER: remote.username or "", PASSWORD: remote.password or ""}
        # Without it, git svn would send the password with the name of the system's user.
        settings["svn.username"] = remote.username or ""
    found["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (name, value) in enumerate(settings.items()):
        found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return found


async def run(
    *command: str,
    home: Path,
    memory: int,
    remote: Remote | None = None,
    stdin: bytes | None = None,
    on_line: LineCallback | None = None,
    more: dict[str, str] | None = None,
    merged: bool = False,
) -> bytes:
    """Run a program and return its standard output.

    The program and each that it starts may use `memory` bytes of address space. `stdin` is what it
    reads, and `more` is added to its environment. `on_line` is called with each line of its
    standard error. If `merged`, standard output is treated as standard error. Raises CommandFailed
    if the program fails. If the caller is cancelled, the program and all that it has started are
    killed.
    """
    if shutil.which(command[0]) is None:
        reason = os.strerror(errno.ENOENT)
        raise CommandFailed(command[0], -1, [f"it cannot be started: {reason}"])
    try:
        process = await asyncio.create_subprocess_exec(
            *_limited(memory),
            *command,
            stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT if merged else asyncio.subprocess.PIPE,
            env=environment(home, remote) | (more or {}),
            cwd=home,
            start_new_session=True,
        )
    except OSError as error:
        raise CommandFailed(command[0], -1, [f"it cannot be started: {error.strerror}"]) from None
    said: deque[str] = deque(maxlen=LINES_KEPT)
    reading = asyncio.ensure_future(_read(None if merged else process.stdout))
    lines = _read_lines(process.stdout if merged else process.stderr, said, on_line)
    others = [asyncio.ensure_future(lines), asyncio.ensure_future(_write_stdin(process, stdin))]
    try:
        await asyncio.gather(reading, *others)
        code = await process.wait()
    finally:
        await _kill_group(process, [reading, *others])
    if code:
        raise CommandFailed(command[0], code, [line for line in said if not PROGRESS.search(line)])
    return reading.result()


def _limited(memory: int) -> Sequence[str]:
    """Return the command before a program that limits its memory to this many bytes."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    return *LIMITED, str(most // 1024)


async def _write_stdin(process: asyncio.subprocess.Process, stdin: bytes | None) -> None:
    if process.stdin is None or stdin is None:
        return
    # If the program ends before it has read its input, its exit code says why.
    with contextlib.suppress(OSError):
        process.stdin.write(stdin)
        await process.stdin.drain()
    process.stdin.close()


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    parts, size = [], 0
    while stream is not None and (part := await stream.read(1 << 16)):
        parts.append(part)
        size += len(part)
        if size > MOST_OUTPUT:
            raise CommandFailed("git", -1, ["its output is too large"])
    return b"".join(parts)


async def _read_lines(
    stream: asyncio.StreamReader | None, said: deque[str], on_line: LineCallback | None
) -> None:
    rest = b""
    while stream is not None and (part := await stream.read(1 << 14)):
        *lines, rest = re.split(rb"[\r\n]", rest + part)
        rest = rest[:LONGEST_LINE]
        for line in lines:
            _handle_line(line, said, on_line)
    _handle_line(rest, said, on_line)


def _handle_line(line: bytes, said: deque[str], on_line: LineCallback | None) -> None:
    text = line[:LONGEST_LINE].decode("utf-8", "replace").strip()
    if text:
        said.append(text)
        if on_line is not None:
            on_line(text)


async def _kill_group(
    process: asyncio.subprocess.Process, using: Sequence[asyncio.Future[Any]]
) -> None:
    """Kill the process and its whole group, if any of them are left, and end what uses its streams.

    The streams are read to their end. While one of them is full, asyncio does not see the end of
    the process.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for one in using:
        one.cancel()
    await asyncio.gather(*using, return_exceptions=True)
    await asyncio.gather(process.wait(), _discard(process.stdout), _discard(process.stderr))


async def _discard(stream: asyncio.StreamReader | None) -> None:
    while stream is not None and await stream.read(1 << 16):
        pass
