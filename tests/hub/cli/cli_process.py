"""Long-running `tocsin` commands in separate processes."""

import os
import re
import signal
import subprocess
import sys
import threading

import httpx
from bearer import bearer
from transactions import transaction
from waiting import PATIENCE

from store import Store
from store.accounts import accounts, tokens
from store.repositories import repositories

SECRET = "ring the bells"


class Process:
    """A running `tocsin` process, whose output can be read line by line."""

    def __init__(self, *args: str, **environment: str) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "hub.cli", *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TOCSIN_LOG_LEVEL": "info", **environment},
        )

    def said(self, pattern: str, *, error: bool = False) -> re.Match[str]:
        """Read lines of output until one matches `pattern`. Return the match.

        The process is killed after PATIENCE. Raises AssertionError if the output ends first.
        """
        stream = self.popen.stderr if error else self.popen.stdout
        assert stream is not None
        seen = []
        impatient = threading.Timer(PATIENCE, self.popen.kill)
        impatient.start()
        try:
            for line in stream:
                matched = re.search(pattern, line)
                if matched:
                    return matched
                seen.append(line)
        finally:
            impatient.cancel()
            impatient.join()
        assert self.popen.stderr is not None
        raise AssertionError(f"{pattern!r} is not in {seen}, {self.popen.stderr.read()}")

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Send a signal. Return the exit code, and the rest of stdout and of stderr."""
        self.popen.send_signal(number)
        return self.ended()

    def ended(self) -> tuple[int, str, str]:
        """Wait for the end. Return the exit code, and the rest of stdout and of stderr.

        Raises AssertionError with the stacks of the process's threads after PATIENCE.
        """
        try:
            out, err = self.popen.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.popen.send_signal(signal.SIGABRT)
            raise AssertionError(f"it did not end: {self.popen.communicate()[1]}") from None
        return self.popen.returncode, out, err


def url_of(process: Process) -> str:
    return process.said(r"at work: (http://127\.0\.0\.1:\d+)$")[1]


def prepare(store: Store) -> str:
    """Create `ada/bell`. Return its owner's token, with the scopes `repo` and `admin:repo_hook`."""

    with transaction(store) as db:
        user = accounts.create(db, "ada")
        repositories.create(db, user["id"], "bell")
        return tokens.create(db, user["id"], scopes=["repo", "admin:repo_hook"])[0]


def subscribe_and_push(hub: str, receiver: str, token: str) -> None:
    headers = bearer(token)
    with httpx.Client(base_url=hub, headers=headers, trust_env=False, timeout=PATIENCE) as client:
        form = {
            "hub.mode": "subscribe",
            "hub.topic": f"{hub}/ada/bell/events/push",
            "hub.callback": receiver,
            "hub.secret": SECRET,
        }
        assert client.post("/hub", data=form).status_code == 204
        answer = client.post("/ada/bell/events/push", json={"ref": "refs/heads/main"})
        assert answer.is_success, answer.text
