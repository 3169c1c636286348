"""`tocsin subscribe` creates the same hook as a request to /hub."""

import json

import pytest
from installation import opened, seed

from store.delivery import delivery_queries
from store.hooks import hook_queries, hooks

URL = "https://other.example/hook"


@pytest.fixture(autouse=True)
def repository(directory) -> None:
    with opened(directory) as store:
        store.write_sync(seed)


def listed(directory):
    with opened(directory) as store:
        return {row["url"]: row for row in store.read_sync(hook_queries.every)}


def secret_of(directory, url: str) -> str | None:
    with opened(directory) as store:
        return store.read_sync(lambda db: hooks.secret_of(db, listed(directory)[url]))


def test_a_new_hook_gets_a_ping_and_a_random_secret(run, directory):
    done = run("subscribe", "ada/bell", URL)
    assert done.stderr.startswith(f"hook 2 delivers every event of ada/bell to {URL}\n")
    assert secret_of(directory, URL) == done.stdout.strip()
    hook = listed(directory)[URL]
    assert (hook["events"], hook["content_type"], hook["active"]) == (["*"], "json", 1)
    with opened(directory) as store:
        (ping,) = [
            row for row in store.read_sync(delivery_queries.page, limit=9) if row["hook_id"] == 2
        ]
    assert ping["event"] == "ping"


def test_events_a_form_and_a_secret(run, directory):
    words = ["--event", "push", "--event", "fork", "--form", "--secret", "-"]
    done = run("subscribe", "ada/bell", URL, *words, "--json", stdin="hush hush\n")
    assert json.loads(done.stdout) == {
        "hook": 2,
        "repository": "ada/bell",
        "url": URL,
        "events": ["push", "fork"],
        "secret": None,
    }
    assert secret_of(directory, URL) == "hush hush"
    assert listed(directory)[URL]["content_type"] == "form"


def test_an_existing_hook_gets_the_event_and_keeps_its_secret(run, directory):
    known = "https://receiver.example/hook"
    done = run("subscribe", "ada/bell", known, "--event", "fork", "--form")
    assert done.stdout == ""
    assert f"hook 1 delivers push, fork of ada/bell to {known}" in done.stderr
    assert secret_of(directory, known) == "hush"
    run("subscribe", "ada/bell", known, "--event", "fork", "--secret", "")
    assert listed(directory)[known]["secret"] is None


def test_another_format_is_another_hook_with_a_secret_of_its_own(run, directory):
    known = "https://receiver.example/hook"
    done = run("subscribe", "ada/bell", known, "--event", "fork", "--event", "star")
    assert f"hook 2 delivers fork, star of ada/bell to {known}" in done.stderr
    assert secret_of(directory, known) == done.stdout.strip()
    with opened(directory) as store:
        first, second = store.read_sync(hook_queries.every)
    assert (first["events"], first["content_type"]) == (["push"], "form")
    done = run("subscribe", "ada/bell", known, "--event", "issues", "--event", "push", "--json")
    shown = json.loads("[" + done.stdout.replace("}\n{", "},{") + "]")
    assert [(one["hook"], one["secret"]) for one in shown] == [(2, None), (1, None)]
    assert (second["events"], second["content_type"]) == (["fork", "star"], "json")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("ada/none", URL), 4, "there is no repository 'ada/none'"),
        (("ada", URL), 2, "is not OWNER/NAME"),
        (("ada/bell", "http://127.0.0.1:9000/"), 2, "127.0.0.1 is refused"),
        (("ada/bell", "nonsense"), 2, "the URL is refused: not of the form"),
        (("ada/bell", URL, "--event", "nonsense"), 2, "`tocsin help events` lists the names"),
        (("ada/bell", URL, "--secret", "x" * 1025), 2, "secret is longer than 1024 bytes"),
    ],
)
def test_errors_change_nothing(run, directory, words, code, said):
    assert said in run("subscribe", *words, code=code).stderr
    assert len(listed(directory)) == 1
