"""Commands read a secret from standard input, and an empty input is an error."""

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
