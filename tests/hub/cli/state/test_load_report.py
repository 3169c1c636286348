"""Generated secrets are printed before the commit, so that none that is valid can be lost."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from waiting import PATIENCE

from hub.cli.console import exits
from hub.cli.state import load_report
from hub.cli.state.load_report import LoadReport
from store import Store
from store.accounts import accounts, tokens
from store.errors import Contended

Load = Callable[..., Result]
APP = {"name": "Mill", "owner": "ada", "url": "https://mill.example/"}
DOCUMENT = {
    "users": [{"login": "ada"}],
    "apps": [APP],
    "tokens": [{"user": "ada", "note": "ci"}],
}


def is_empty(store: Store) -> bool:
    return store.read_sync(accounts.list_all) == store.read_sync(tokens.list_all) == []


def show_and(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> None:
    """Call `then` after the secrets were printed, and before the commit."""
    show = LoadReport.show_secrets

    def shown(report: LoadReport, changes: Any) -> None:
        show(report, changes)
        then()

    monkeypatch.setattr(LoadReport, "show_secrets", shown)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_secrets_are_printed_before_they_are_valid(
    load: Load, store: Store, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    before: list[bool] = []
    show_and(monkeypatch, lambda: before.append(is_empty(store)))
    result = load(DOCUMENT, *options)
    assert before == [True]
    if options:
        value = json.loads(result.stdout)["tokens"]["ada ci"]
    else:
        first, second, *_, last = result.stdout.splitlines()
        assert second.startswith("client secret of Mill: ")
        assert last == "3 created, 0 updated, 0 unchanged"
        value = first.removeprefix("token of ada ci: ").split()[0]
    assert store.read_sync(tokens.find, value) is not None


def test_nothing_is_loaded_if_the_secrets_cannot_be_printed(load: Load, store: Store) -> None:
    command = [sys.executable, "-m", "hub.cli", "load", "-"]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        given: dict[str, Any] = {
            "input": json.dumps(DOCUMENT),
            "stdout": full,
            "stderr": subprocess.PIPE,
        }
        done = subprocess.run(command, text=True, check=False, timeout=PATIENCE, **given)
    assert (done.returncode, done.stderr) == (
        exits.LATER,
        "Error: cannot write the output: No space left on device\n",
    )
    assert is_empty(store)
    load(DOCUMENT)


def test_secrets_that_a_conflict_undid_are_not_followed_by_others(
    load: Load, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def conflict() -> None:
        raise Contended("busy")

    show_and(monkeypatch, conflict)
    result = load(DOCUMENT, code=exits.LATER)
    assert "nothing was loaded, and the secrets shown are not valid" in result.stderr
    assert result.stdout.count("token of ada ci") == 1
    assert is_empty(store)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_long_text_does_not_keep_the_database_locked(
    load: Load, store: Store, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    """If its reader paused, such as a pager, the transaction would not end."""
    monkeypatch.setattr(load_report, "EARLY", 10)
    printed: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(LoadReport, "finish", lambda report, changes: None)
        printed.append(load(DOCUMENT, *options).stdout)
    assert printed == [""]
    store.write_sync(lambda db: db.execute("DELETE FROM token"))
    assert "tsp_" in load(DOCUMENT, *options).stdout
