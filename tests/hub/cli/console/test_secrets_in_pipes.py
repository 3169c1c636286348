"""Commands read a secret from standard input, and write a random one to standard output."""

import os
import subprocess
import sys

import pytest

from hub.cli.console import exits
from store import Store

URL = "https://receiver.example/hook"
READERS = [
    "hook add ada/bell https://receiver.example/new --secret -",
    "hook rotate-secret 1 --secret -",
    "hook rotate-key 1 --key -",
    f"subscribe ada/bell {URL} --event push --secret -",
    "source add forge --secret -",
    "user password ada",
]


def hooks_of(store: Store) -> list[dict[str, object]]:
    return store.read_sync(lambda db: db.all("SELECT * FROM hook"))


@pytest.mark.parametrize("words", READERS)
def test_an_empty_input_is_no_empty_secret(run, hook_id, store: Store, words: str):
    """The program before the pipe has failed. An empty secret would end the hook's signatures."""
    before = hooks_of(store)
    said = run(*words.split(), stdin="", code=exits.USAGE).stderr
    assert "standard input is empty" in said
    assert hooks_of(store) == before


def test_an_empty_line_is_an_empty_secret(run, hook_id, store: Store):
    run("subscribe", "ada/bell", URL, "--event", "push", "--form", "--secret", "-", stdin="\n")
    (hook,) = hooks_of(store)
    assert hook["secret"] is None


def test_a_rotation_is_reported_although_nobody_reads_the_secret(hook_id, store: Store):
    before = hooks_of(store)
    read, write = os.pipe()
    os.close(read)
    words = ["hook", "rotate-secret", str(hook_id), "--overlap", "0s"]
    done = subprocess.run(
        [sys.executable, "-m", "hub.cli", *words],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (exits.FAILED, f"hook {hook_id} has a new secret\n")
    assert hooks_of(store) != before
