"""`tocsin job list` and `tocsin job run`: jobs, their times, and running one now."""

import json
import os
import time
from pathlib import Path

import pytest
from required import required
from usage_world import many, using

from store import Connection, Store
from store.accounts import accounts
from store.assistant import usage_days
from store.clock import DAY, MINUTE, SECOND
from store.delivery import event_queries, leases
from store.hooks import hooks
from store.jobs import jobs
from store.registry.expiring import ExpiringKind
from store.repositories import interaction_limits, repositories
from worker.jobs import expire


def limited(store: Store) -> None:
    """Create a repository whose interaction limit has expired."""
    owner = store.write_sync(accounts.create, "ada")
    repo = store.write_sync(repositories.create, owner["id"], "engine")
    over = store.clock.now() - SECOND
    store.write_sync(interaction_limits.limit_repository, repo, "existing_users", over)


def test_before_any_worker_was_there(listed, run, store: Store):
    found = {row["name"]: row for row in listed("job", "list")}
    prune = found["prune"]
    assert found["expire"] == {
        "name": "expire",
        "schedule": "when needed",
        "last_run_at": None,
        "outcome": None,
        "seconds": None,
        "error": None,
        "failures": 0,
        "next_run_at": None,
    }
    assert prune["schedule"] == "*/10 * * * *"
    assert prune["next_run_at"][14:16] in ("00", "10", "20", "30", "40", "50")
    assert "*/10 * * * *" in run("job", "list").stdout
    assert "schedule\t*/10 * * * *\n" in run("job", "show", "prune").stdout
    assert store.read_sync(jobs.every) == [], "listing the jobs changes nothing"


def test_a_job_can_be_run_without_a_worker(run, listed, store: Store):
    limited(store)
    assert run("job", "run", "expire").stdout.startswith("expire: done in ")
    (row,) = [row for row in listed("job", "list") if row["name"] == "expire"]
    assert (row["outcome"], row["error"], row["next_run_at"]) == ("done", None, None)
    assert row["last_run_at"]
    assert row["seconds"] >= 0
    (event,) = store.read_sync(event_queries.newest, limit=9)
    assert (event["name"], event["action"]) == ("interaction_limit", "expired")
    # A second run has nothing to do.
    run("job", "run", "expire")
    assert len(store.read_sync(event_queries.newest, limit=9)) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_job_of_root_leaves_files_of_the_owner(run, store: Store, directory: Path, url: str):
    """A daemon of another user can use them: it could not start, or not read a report."""
    yesterday = usage_days.iso(usage_days.of_moment(store.clock.now()) - 1)
    store.write_sync(many, store.write_sync(using), yesterday, 1, 1)
    for path in (directory, *directory.iterdir()):
        os.chown(path, 12345, 12345)
    run("job", "run", "reports")
    made = {path.name: path.stat() for path in directory.rglob("*")}
    assert ("tocsin.worker.lock" in made) == (url == "sqlite")
    assert any(name.endswith(".ndjson") for name in made)
    assert {(status.st_uid, status.st_gid) for status in made.values()} == {(12345, 12345)}


def test_a_failed_job_is_reported(run, listed, store: Store, monkeypatch: pytest.MonkeyPatch):
    def failing(*args: object) -> int:
        raise ValueError("a mistake")

    monkeypatch.setattr(expire, "EXPIRING", [ExpiringKind("bell.rung", lambda db: None, failing)])
    said = run("job", "run", "expire", code=1)
    assert "expire failed: ValueError: see the log" in said.stderr
    (row,) = [row for row in listed("job", "list") if row["name"] == "expire"]
    assert (row["outcome"], row["failures"]) == ("failed", 1)


def test_an_unknown_job_is_reported(run, store: Store):
    said = run("job", "run", "nothing", code=4)
    assert "there is no job 'nothing'; the jobs are " in said.stderr
    assert "expire, " in said.stderr


def test_a_running_job_is_listed(listed, store: Store):
    plan = jobs.JobSchedule("prune", "*/10 * * * *", store.clock.now())
    store.write_sync(jobs.save_schedules, [plan])
    store.write_sync(jobs.claim, "prune", "a worker")
    (row,) = [row for row in listed("job", "list") if row["name"] == "prune"]
    assert (row["outcome"], row["seconds"]) == ("running", None)


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_worker_elsewhere_is_waited_for(run, store: Store, monkeypatch: pytest.MonkeyPatch):
    lease = store.write_sync(leases.acquire, "far away", MINUTE)
    looks = []

    def done_at_once(db: Connection) -> None:
        row = required(jobs.claim(db, "prune", "far away"))
        jobs.complete(db, row, row["due_at"])

    def work(seconds: float) -> None:
        """Stand in for `time.sleep`. During the third pause, the worker completes the job."""
        looks.append(seconds)
        if len(looks) == 3:
            store.write_sync(done_at_once)

    monkeypatch.setattr(time, "sleep", work)
    assert run("job", "run", "prune").stdout.startswith("prune: done in 0.")
    assert len(looks) == 3
    # Without a worker, the command runs the job itself.
    store.write_sync(leases.release, lease)
    run("job", "run", "prune")
    found = required(store.read_sync(jobs.get, "prune"))
    assert found["holder"] != "far away"


def test_a_run_without_a_worker_does_not_hide_its_absence(run, store: Store):
    """The hook failed for a second before the worker was off."""
    limited(store)
    hook = store.write_sync(hooks.create, 1, url="https://a.example/", events=["push"])
    run("job", "run", "expire")
    ended = required(store.read_sync(jobs.last_end))
    absent = "UPDATE job SET ended_at = :at"
    store.write_sync(lambda db: db.execute(absent, at=ended - 5 * DAY))
    failing = "UPDATE hook SET failing_since = :at"
    store.write_sync(lambda db: db.execute(failing, at=ended - 5 * DAY - SECOND))
    run("job", "run", "expire")
    row = required(store.read_sync(hooks.by_id, hook["id"]))
    assert row["failing_since"] >= ended - SECOND


def test_jobs_as_json(run, store: Store):
    assert {row["name"] for row in json.loads(run("job", "list", "--json").stdout)} >= {
        "expire",
        "prune",
    }
