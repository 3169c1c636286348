"""The README's first hour, line by line: its blocks typed into terminals, and what is seen then."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from ports import free_port
from waiting import PATIENCE

README = Path(__file__).parents[3] / "README.md"
# Seconds, on a machine that has other things to do.


def blocks() -> dict[str, str]:
    """The shell blocks of the tour, by name."""
    text = README.read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- tour: (\w+) -->\n```sh\n(.*?)```", text, re.S))


class Terminal:
    """A shell that blocks are typed into, and what it prints."""

    def __init__(self, directory: Path, ports: dict[str, str]) -> None:
        self._ports = ports
        scripts = Path(sys.executable).parent
        self.process = subprocess.Popen(
            ["bash", "-eu"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            cwd=directory,
            env={**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "no_proxy": "*"},
            start_new_session=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.seen = ""

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def type(self, name: str) -> None:
        """Type a block of the README."""
        assert self.process.stdin is not None
        self.process.stdin.write(self._text(name))

    def _text(self, name: str) -> str:
        text = blocks()[name]
        for port, other in self._ports.items():
            text = text.replace(port, other)
        return text

    def run(self, name: str) -> str:
        """Type a block, and wait until all of it was done; what it printed."""
        self.type(name)
        return self._done(name)

    def run_around(self, name: str, pause: str, meanwhile: Callable[[], object]) -> str:
        """The same with a block in which a line is a pause, in whose place `meanwhile` is done."""
        before, after = self._text(name).split(f"{pause}\n")
        assert self.process.stdin is not None
        self.process.stdin.write(before)
        meanwhile()
        self.process.stdin.write(after)
        return self._done(name)

    def _done(self, name: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"echo; echo done: {name}\n")
        before = len(self.seen)
        self.until(f"^done: {name}$")
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


@pytest.fixture
def open_terminal(directory: Path) -> Iterator[Callable[[], Terminal]]:
    ports = {port: str(free_port()) for port in ("8765", "9000")}
    made: list[Terminal] = []

    def call() -> Terminal:
        made.append(Terminal(directory, ports))
        return made[-1]

    yield call
    for terminal in made:
        terminal.close()


def sign_in(url: str, token: str) -> str:
    """The overview that who signs in with a token comes to."""
    with httpx.Client(trust_env=False, follow_redirects=True, timeout=PATIENCE) as browser:
        door = browser.get(url).text
        (csrf,) = set(re.findall(r'name="csrf" value="(\w+)"', door))
        form = {"csrf": csrf, "token": token, "next": "/ui/deliveries"}
        return browser.post(f"{url}/sign-in", data=form).raise_for_status().text


def test_the_first_hour(open_terminal):
    receiver, daemon, user, follower = (open_terminal() for _ in range(4))
    receiver.type("receiver")
    receiver.until("listening on")
    daemon.type("daemon")
    daemon.until("at work: http")
    user.run("user")
    assert "delivery 2 is sent again as delivery 3" in user.run("again")
    for _ in ("ping", "push", "push again"):
        receiver.until("✓ verified: sha256, sha1, standard")

    ((url, token),) = re.findall(r"(http\S+/ui), with the token (\w+)", user.run("dashboard"))
    page = sign_in(url, token)
    assert "ping" in page
    assert "push" in page

    assert re.search(r"/events, with the secret [0-9a-f]{64}", user.run("source"))
    assert '"deliveries": 1' in user.run("forge").replace('":1', '": 1')
    receiver.until("push  72d3162e.*✓ verified")

    receiver.interrupt()
    broken = open_terminal()
    broken.type("broken")
    broken.until("listening on")
    follower.type("follow")
    follower.until("push.*200")

    def refused() -> None:
        # By the clock at which it is printed.
        follower.until(r"push +503 .*again (in [1-7] s|now|\d s ago)")
        follower.until(r"push +503 .*again in \d+ min")

    waiting = user.run_around("refused", "sleep 8", refused)
    assert re.search(r"push .* waiting +2 +503", waiting)
    follower.interrupt()
    broken.interrupt()

    receiver = open_terminal()
    receiver.type("receiver")
    receiver.until("listening on")
    replayed = user.run("replay")
    assert "3 deliveries are on their way" in replayed
    receiver.until("while it was broken")

    installed = user.run("systemd")
    assert "staging/etc/systemd/system/tocsin.service" in installed
    assert re.search(r"hooks active +1", installed)
