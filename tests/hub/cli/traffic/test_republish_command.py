"""`tocsin republish`: the worker publishes the current state again, or else the command does."""

import io
import json

import pytest
from rich.console import Console
from transactions import transaction

from hub.cli.console import output
from store import Connection, Store
from store.accounts import accounts
from store.clock import MINUTE
from store.delivery import event_queries, leases
from store.jobs import jobs
from store.registry import republish_runs
from store.repositories import repositories


@pytest.fixture
def bells(store: Store) -> None:
    """Create three repositories of ada and one of bob."""

    with transaction(store) as db:
        for login, many in (("ada", 3), ("bob", 1)):
            owner = accounts.create(db, login)
            for number in range(many):
                repositories.create(db, owner["id"], f"bell-{number}")


def reported(store: Store) -> list[str]:
    return [row["repository"] for row in store.read_sync(event_queries.newest, limit=99)][::-1]


@pytest.mark.usefixtures("bells")
def test_without_a_worker_it_is_done_here(run, listed, store: Store):
    said = run("republish", "--topic", "ada/*/events/repository")
    assert said.stdout == "run 1: 3 published to ada/*/events/repository\n"
    assert reported(store) == ["ada/bell-0", "ada/bell-1", "ada/bell-2"]
    (row,) = listed("republish", "list")
    assert (row["published"], row["total"], row["outcome"]) == (3, 3, "done")
    (job,) = [row for row in listed("job", "list") if row["name"] == "republish"]
    assert (job["outcome"], job["next_run_at"]) == ("done", None)


@pytest.mark.usefixtures("bells")
def test_a_terminal_shows_a_progress_bar(run, monkeypatch: pytest.MonkeyPatch):
    shown = io.StringIO()
    screen = Console(file=shown, force_terminal=True, width=100)
    monkeypatch.setattr(output, "console", lambda **given: screen)
    run("republish", "--topic", "*/*/events/repository")
    assert "republishing" in shown.getvalue()
    assert "4/4" in shown.getvalue()


@pytest.mark.usefixtures("bells")
def test_a_dry_run_counts_the_resources(run, store: Store):
    said = run("republish", "--topic", "*/*/events/*", "--dry-run")
    assert "4 would be published to */*/events/*" in said.stdout
    found = json.loads(run("republish", "--topic", "*/*/events/*", "--dry-run", "--json").stdout)
    assert found["total"] == found["resources"]["repository"] == 4
    since = run(
        "republish", "--topic", "*/*/events/*", "--dry-run", "--since", "2100-01-01T00:00:00Z"
    )
    assert "there are no such resources" in since.stderr
    assert reported(store) == []
    assert store.read_sync(republish_runs.page, limit=9) == []


@pytest.mark.usefixtures("bells")
def test_republish_runs_as_json(run, store: Store):
    given = ("--topic", "bob/*/events/repository", "--rate", "7", "--json")
    found = json.loads(run("republish", *given).stdout)
    assert (found["run"], found["rate"], found["outcome"]) == (1, 7, "done")
    assert found["asked_by"] == "command"


@pytest.mark.usefixtures("bells")
def test_a_run_can_be_left_to_the_worker_and_stopped(run, listed, store: Store):
    said = run("republish", "--topic", "*/*/events/repository", "--no-wait")
    assert said.stdout == "run 1: 4 are to be published to */*/events/repository\n"
    (row,) = listed("republish", "list")
    assert (row["outcome"], row["published"]) == ("waiting", 0)
    assert run("republish", "stop", "1").stdout == "run 1: stopped after 0 of 4\n"
    assert "run 1 is over" in run("republish", "stop", "1", code=5).stderr
    assert "there is no run 9" in run("republish", "stop", "9", code=4).stderr
    run("republish", "follow", "1", code=1)
    assert reported(store) == []


@pytest.mark.usefixtures("bells")
def test_a_failed_run_is_reported(run, monkeypatch: pytest.MonkeyPatch):
    def failing(*args: object) -> None:
        raise ValueError("a mistake")

    with monkeypatch.context() as broken:
        broken.setattr(republish_runs, "next_batch", failing)
        said = run("republish", "--topic", "*/*/events/repository", code=1)
    assert "it failed, and is tried again later: ValueError: see the log" in said.stderr
    assert run("republish", "follow", "1").stdout.startswith("run 1: 4 published")


@pytest.mark.parametrize("topic", ["ada/bell", "ada/bell/events/flood"])
def test_a_wrong_topic_is_refused(run, topic: str):
    said = run("republish", "--topic", topic, code=2).stderr
    assert "is no topic: write owner/repo/events/event" in said or "check_run, check_suite" in said


@pytest.mark.usefixtures("bells")
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_worker_elsewhere_is_waited_for(run, store: Store, monkeypatch: pytest.MonkeyPatch):
    store.write_sync(leases.acquire, "far away", MINUTE)
    looks = []
    look = republish_runs.get

    def looking(db: Connection, run_id: int):
        looks.append(run_id)
        if len(looks) == 3:
            return look(db, run_id) | {"ended_at": db.now, "outcome": "done", "published": 4}
        return look(db, run_id)

    monkeypatch.setattr(republish_runs, "get", looking)
    said = run("republish", "--topic", "*/*/events/repository")
    assert said.stdout == "run 1: 4 published to */*/events/repository\n"
    assert store.read_sync(jobs.get, "republish") is None, (
        "the command must leave the job to the worker"
    )


@pytest.mark.usefixtures("store")
def test_a_schedule_in_the_settings(run, listed, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOCSIN_REPUBLISH_AT", "30 3 * * sun")
    (row,) = [row for row in listed("job", "list") if row["name"] == "republish-begin"]
    assert row["schedule"] == "30 3 * * sun"
    monkeypatch.setenv("TOCSIN_REPUBLISH_TOPICS", '["nonsense"]')
    assert "is no topic" in run("job", "list", code=1).stderr
