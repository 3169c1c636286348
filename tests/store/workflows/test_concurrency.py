"""Concurrency groups, from events to the order of their queue."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from platform_events import report
from required import required
from store_world import World

from store import Connection, Row
from store.clock import DAY, SECOND, iso, iso_micro
from store.projection import projection_table
from store.workflows import concurrency, concurrency_members, workflow_jobs, workflow_runs

AT = 1_700_000_000 * SECOND


def at(seconds: int) -> str:
    return iso(AT + seconds * SECOND)


def reflect(world: World, name: str, **payload: Any) -> None:
    report(world.store, world.repo, f"{name}.requested", source_id=0, **payload)


def run(
    world: World, number: int = 1, status: str = "queued", moment: int = 0, **more: Any
) -> None:
    """Project an event of a workflow run that was updated `moment` seconds after AT."""
    given = {
        "id": number,
        "name": f"run {number}",
        "status": status,
        "run_attempt": more.pop("attempt", 1),
        "created_at": at(more.pop("created", number)),
        "updated_at": at(moment),
    }
    reflect(world, "workflow_run", workflow_run=given, **more)


def job(
    world: World, number: int = 100, run_id: int = 1, status: str = "queued", **more: Any
) -> None:
    given = {
        "id": number,
        "run_id": run_id,
        "run_attempt": more.pop("attempt", 1),
        "name": more.pop("name", f"job {number}"),
        "workflow_name": "CI",
        "status": status,
        "created_at": at(more.pop("created", number)),
        "started_at": at(more.pop("started", number)),
    }
    reflect(world, "workflow_job", workflow_job=given, **more)


def names(rows: list[Row] | None) -> list[str] | None:
    """Return the members in short: `1` is a run, `1/100` is a job of it, and `+` marks holders."""
    if rows is None:
        return None
    return [
        f"{row['run_number']}"
        + (f"/{row['job_number']}" if row["job_number"] is not None else "")
        + ("" if row["waiting"] else "+")
        for row in rows
    ]


def group(world: World, name: str = "prod") -> Row | None:
    return world.store.read_sync(concurrency.get, world.repo["id"], name)


def queue(world: World, name: str = "prod") -> list[str] | None:
    found = group(world, name)
    return None if found is None else names(world.store.read_sync(concurrency.members, found["id"]))


def ahead(world: World, of: str, number: int, name: str = "prod") -> list[str] | None:
    found = required(group(world, name))
    ask = {"run": concurrency.ahead_of_run, "job": concurrency.ahead_of_job}[of]
    return names(world.store.read_sync(ask, found, number))


def configured(world: World, number: int = 1) -> dict[str, list[int]]:
    """The groups of a run, each with the positions of the run's members in its queue."""

    def read(db: Connection) -> dict[str, list[int]]:
        row = required(workflow_runs.get(db, world.repo["id"], number))
        groups = concurrency.of_run(db, row["id"], limit=99)
        assert row["groups_named"] == len(groups)
        members = concurrency.own_members(db, row["id"], [each["id"] for each in groups])
        return {
            each["name"]: [member["position"] for member in members.get(each["id"], [])]
            for each in groups
        }

    return world.store.read_sync(read)


# Runs


def test_runs_wait_in_the_order_in_which_they_were_made(world: World) -> None:
    for number in (2, 1, 3):
        run(world, number, concurrency={"group": "prod"})
    assert queue(world) == ["1", "2", "3"]
    run(world, 2, "in_progress", 5, concurrency={"group": "prod"})
    assert queue(world) == ["2+", "1", "3"]
    assert ahead(world, "run", 2) == ["2+"]
    assert ahead(world, "run", 1) == ["2+", "1"]
    assert ahead(world, "run", 3) == ["2+", "1", "3"]
    assert ahead(world, "run", 4) is None
    assert [configured(world, number) for number in (1, 2, 3)] == [
        {"prod": [1]},
        {"prod": [0]},
        {"prod": [2]},
    ]


def test_an_event_without_concurrency_updates_the_status(world: World) -> None:
    run(world, concurrency={"group": "prod"})
    run(world, status="in_progress", moment=1)
    assert queue(world) == ["1+"]
    run(world, status="waiting", moment=2)
    assert queue(world) == ["1+"]
    run(world, status="completed", moment=3)
    assert queue(world) is None
    assert configured(world) == {"prod": []}


def test_a_run_can_contain_its_concurrency(world: World) -> None:
    reported = {"id": 1, "status": "in_progress", "concurrency": {"group": "prod"}}
    reflect(world, "workflow_run", workflow_run=reported)
    assert queue(world) == ["1+"]


def test_a_payload_s_concurrency_overrides_the_status(world: World) -> None:
    reported = {"group": "prod", "status": "in_progress", "acquired_at": at(7)}
    run(world, 1, concurrency=reported)
    run(world, 2, "in_progress", concurrency={"group": "prod", "status": "pending"})
    run(world, 3, concurrency={"group": "prod", "queued_at": at(0)})
    assert queue(world) == ["1+", "3", "2"]
    found = required(group(world))
    assert found["last_acquired_at"] == AT + 7 * SECOND
    run(world, 1, moment=1, concurrency={"group": "prod", "status": "released"})
    assert queue(world) == ["3", "2"]
    run(world, 3, moment=1, concurrency={"group": None})
    assert queue(world) == ["2"]


def test_when_it_was_acquired_last(world: World) -> None:
    run(world, concurrency={"group": "prod"})
    before = required(group(world))
    assert before["last_acquired_at"] is None
    run(world, status="in_progress", moment=9)
    run(world, 2, "in_progress", 5, concurrency={"group": "PROD"})
    after = required(group(world))
    assert (after["name"], after["last_acquired_at"]) == ("prod", AT + 9 * SECOND)


def test_a_time_far_ahead_is_not_the_last_acquisition_for_ever(world: World) -> None:
    world.clock.advance((AT - world.now) / SECOND)
    for number, seconds in ((1, 3 * 86_400), (2, 60), (3, 50)):
        held = {"group": "prod", "status": "in_progress", "acquired_at": at(seconds)}
        run(world, number, concurrency=held)
    found = required(group(world))
    assert found["last_acquired_at"] == AT + 60 * SECOND


def test_a_time_that_was_far_ahead_is_not_the_last_acquisition_when_it_is_near(
    world: World,
) -> None:
    world.clock.advance((AT - world.now) / SECOND)
    for number, seconds in ((1, 3 * 86_400), (2, 2.5 * 86_400)):
        held = {"group": "prod", "status": "in_progress", "acquired_at": at(int(seconds))}
        run(world, number, concurrency=held)
        world.clock.advance(2.5 * 86_400)
    found = required(group(world))
    assert found["last_acquired_at"] == AT + int(2.5 * DAY)


def test_a_group_s_case_says_nothing(world: World) -> None:
    run(world, 1, concurrency={"group": "Prod-Ä"})
    run(world, 2, concurrency={"group": "pROD-ä"})
    assert queue(world, "PROD-ä") == ["1", "2"]
    assert configured(world, 2) == {"Prod-Ä": [2]}


def test_a_run_changes_its_group(world: World) -> None:
    run(world, concurrency={"group": "prod"})
    run(world, moment=1, concurrency={"group": "test"})
    assert (queue(world), queue(world, "test")) == (None, ["1"])
    assert configured(world) == {"prod": [], "test": [1]}


@pytest.mark.parametrize(
    ("events", "left"),
    [
        ([("completed", 3), ("in_progress", 2)], None),
        ([("completed", 3), ("in_progress", 3)], None),
        ([("in_progress", 3), ("queued", 3)], ["1+"]),
        ([("in_progress", 3), ("queued", 2)], ["1+"]),
        ([("in_progress", 3), ("completed", 3)], None),
    ],
)
def test_an_older_event_does_not_change_the_queue(
    world: World, events: list[tuple[str, int]], left: list[str] | None
) -> None:
    for status, moment in events:
        run(world, 1, status, moment, concurrency={"group": "prod"})
    assert queue(world) == left


def test_an_older_unsigned_event_of_a_signed_run_does_not_change_the_queue(world: World) -> None:
    given = {"id": 1, "status": "queued", "run_attempt": 2, "updated_at": at(5)}
    report(world.store, world.repo, "workflow_run.requested", source_id=1, workflow_run=given)
    run(world, 1, "queued", 1, attempt=1, concurrency={"group": "prod"})
    assert queue(world) is None
    run(world, 1, "queued", 5, attempt=2, concurrency={"group": "prod"})
    assert queue(world) == ["1"]


def test_a_new_attempt_replaces_the_former_one(world: World) -> None:
    reported = {"group": "prod"}
    run(world, status="completed", moment=3, concurrency=reported)
    run(world, 1, "queued", 4, attempt=2, concurrency=reported)
    assert queue(world) == ["1"]
    run(world, 1, "in_progress", 3, attempt=1, concurrency=reported)
    assert queue(world) == ["1"]
    run(world, 1, "in_progress", 5, attempt=2, concurrency=reported)
    run(world, 1, "queued", 5, attempt=3, concurrency=reported)
    assert queue(world) == ["1"]


# Jobs


def test_jobs_have_groups_of_their_own(world: World) -> None:
    run(world, 1, "in_progress", concurrency={"group": "prod"})
    job(world, 100, 1, concurrency={"group": "db"})
    job(world, 101, 2, "in_progress", concurrency={"group": "db"})
    assert queue(world, "db") == ["2/101+", "1/100"]
    assert ahead(world, "job", 100, "db") == ["2/101+", "1/100"]
    assert ahead(world, "job", 101, "db") == ["2/101+"]
    assert configured(world, 1) == {"db": [1], "prod": [0]}
    found = required(group(world, "db"))
    rows = world.store.read_sync(concurrency.members, found["id"])
    assert [(row["run_name"], row["job_name"]) for row in rows] == [
        ("CI", "job 101"),
        ("run 1", "job 100"),
    ]
    job(world, 101, 2, "completed")
    assert queue(world, "db") == ["1/100"]
    job(world, 101, 2, "in_progress", concurrency={"group": "db"})
    assert queue(world, "db") == ["1/100"]
    run(world, 1, "completed", 5)
    assert queue(world, "db") is None
    job(world, 102, 1, concurrency={"group": "db"})
    assert queue(world, "db") is None
    assert configured(world, 1) == {"db": [], "prod": []}


def test_a_run_is_not_where_its_jobs_are(world: World) -> None:
    job(world, 100, 1, "in_progress", concurrency={"group": "prod"})
    assert ahead(world, "run", 1) is None
    assert ahead(world, "job", 100) == ["1/100+"]
    run(world, 1, concurrency={"group": "prod"})
    # A run does not wait for a group that its own job holds.
    assert ahead(world, "run", 1) == ["1"]
    job(world, 200, 2, "in_progress", concurrency={"group": "prod"})
    assert ahead(world, "run", 1) == ["2/200+", "1"]
    assert ahead(world, "job", 1) is None


def test_a_job_is_not_where_its_run_is(world: World) -> None:
    run(world, 1, "in_progress", concurrency={"group": "prod"})
    job(world, 100, 1)
    assert ahead(world, "job", 100) is None


def test_jobs_of_an_ended_attempt_are_left_out(world: World) -> None:
    job(world, 100, 1, "in_progress", concurrency={"group": "prod"})
    job(world, 200, 1, attempt=2, concurrency={"group": "prod"})
    assert queue(world) == ["1/200"]
    job(world, 101, 1, "in_progress", attempt=1, concurrency={"group": "prod"})
    assert queue(world) == ["1/200"]


def test_a_job_of_another_run_is_another_s(world: World) -> None:
    job(world, 100, 1, concurrency={"group": "prod"})
    job(world, 100, 2, "completed", concurrency={"group": "prod"})
    assert queue(world) == ["1/100"]


# Reusable workflows


def call(path: str, status: str = "in_progress", name: str = "prod") -> dict[str, Any]:
    return {"reusable": [{"path": path, "group": name, "status": status}]}


def test_a_run_is_where_a_workflow_that_it_calls_is(world: World) -> None:
    run(world, 1, "in_progress", concurrency=call("deploy"))
    run(world, 2, "in_progress", concurrency=call("deploy", "pending"))
    assert queue(world) == ["1+", "2"]
    assert ahead(world, "run", 2) == ["1+", "2"]
    assert configured(world, 2) == {"prod": [1]}
    run(world, 1, "in_progress", 1, concurrency=call("deploy", "released"))
    assert queue(world) == ["2"]
    run(world, 2, "completed", 1)
    assert queue(world) is None


def test_a_job_is_where_a_workflow_is_that_it_is_a_part_of(world: World) -> None:
    run(world, 9, "in_progress", concurrency={"group": "prod"})
    job(world, 100, 1, name="deploy / eu / upload", concurrency=call("deploy / eu", "pending"))
    job(world, 101, 1, name="deploy / us / upload")
    job(world, 102, 1, name="deploy / eu")
    job(world, 103, 1, name="upload", concurrency={"path": "deploy / eu / upload"})
    job(world, 104, 1, name="deploy / europe / upload")
    job(world, 200, 2, name="deploy / eu / upload")
    assert ahead(world, "job", 100) == ["9+", "1"]
    assert ahead(world, "job", 103) == ["9+", "1"]
    for number in (101, 102, 104, 200):
        assert ahead(world, "job", number) is None, number


def test_jobs_at_any_depth_are_matched(world: World) -> None:
    job(world, 100, 1, name="a / b / c / d", concurrency=call("a", "pending"))
    assert ahead(world, "job", 100) == ["1"]


def test_a_job_s_own_concurrency_comes_before_its_caller_s(world: World) -> None:
    run(world, 1, "in_progress", concurrency=call("deploy"))
    run(world, 9, concurrency={"group": "prod"})
    job(world, 100, 1, name="deploy / x", concurrency={"group": "prod"})
    assert ahead(world, "job", 100) == ["1+", "9", "1/100"]


def test_the_longest_wait_decides_the_place_of_a_run(world: World) -> None:
    run(world, 1, "in_progress", concurrency=call("a"))
    run(world, 9, concurrency={"group": "prod"})
    world.clock.advance(2**31)
    run(world, 1, "in_progress", 1, concurrency=call("b", "pending"))
    assert queue(world) == ["1+", "9", "1"]
    assert ahead(world, "run", 1) == ["1+", "9", "1"]
    run(world, 1, "in_progress", 2, concurrency={"group": "prod", "acquired_at": iso(world.now)})
    assert ahead(world, "run", 1) == ["1+", "1+"]


# Configurations


def test_a_configuration_names_groups_that_are_not_entered(world: World) -> None:
    run(world, 1, concurrency={"group": "b", "configured": ["C", "a", "b", "A", 7, "", None]})
    assert list(configured(world)) == ["a", "b", "C"]
    assert configured(world) == {"a": [], "b": [1], "C": []}
    assert (group(world, "a"), group(world, "c")) == (None, None)


def test_pages_of_a_configuration(world: World) -> None:
    run(world, 1, concurrency={"configured": list("abcde")})

    def read(db: Connection, **place: bytes) -> str:
        row = required(workflow_runs.get(db, world.repo["id"], 1))
        rows = concurrency.of_run(db, row["id"], limit=2, **place)
        return "".join(each["name"] for each in rows)

    look = world.store.read_sync
    assert look(read) == "ab"
    assert [look(lambda db, k=key: read(db, after=k)) for key in (b"b", b"c", b"e")] == [
        "cd",
        "de",
        "",
    ]
    assert [look(lambda db, k=key: read(db, before=k)) for key in (b"b", b"c", b"a")] == [
        "ab",
        "bc",
        "a",
    ]


def test_active_groups(world: World) -> None:
    for number, name in enumerate(("b", "a", "c"), 1):
        run(world, number, concurrency={"group": name, "configured": ["idle"]})
    elsewhere = world.another_repo()

    def read(db: Connection, repo_id: int, **place: bytes) -> tuple[int, list[str]]:
        rows = concurrency.active(db, repo_id, limit=2, **place)
        return concurrency.count_active(db, repo_id), [row["name"] for row in rows]

    look = world.store.read_sync
    assert look(read, world.repo["id"]) == (3, ["a", "b"])
    assert look(lambda db: read(db, world.repo["id"], after=b"b")) == (3, ["c"])
    assert look(read, elsewhere["id"]) == (0, [])
    run(world, 1, "completed", 9)
    assert look(read, world.repo["id"]) == (2, ["a", "c"])


def test_groups_are_a_repository_s(world: World) -> None:
    run(world, 1, concurrency={"group": "prod"})
    other = world.another_repo()
    assert world.store.read_sync(concurrency.get, other["id"], "prod") is None


# Bounds


def test_a_queue_has_an_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency_members, "MOST_MEMBERS", 2)
    for number in (1, 2, 3):
        run(world, number, concurrency={"group": "prod"})
    assert queue(world) == ["1", "2"]
    assert configured(world, 3) == {"prod": []}
    run(world, 1, "completed", 5)
    run(world, 3, moment=1, concurrency={"group": "prod"})
    assert queue(world) == ["2", "3"]


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30) | st.just("\0"),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["group", "status", "queued_at", "acquired_at", "configured", "reusable", "path", "id",
             "run_id", "run_attempt", "name", "updated_at", "concurrency"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=15,
)  # fmt: skip


@settings(max_examples=60)
@given(
    name=st.sampled_from(["workflow_run", "workflow_job"]),
    changed=st.dictionaries(
        st.sampled_from(["id", "run_id", "status", "run_attempt", "name", "updated_at"]), odd
    ),
    reported=odd,
)
def test_any_payload_is_projected_without_an_error(
    world: World, name: str, changed: Any, reported: Any
) -> None:
    given = {"id": 1, "run_id": 1, "status": "in_progress"} | changed
    reflect(world, name, **{name: given, "concurrency": reported})
    reflect(world, name, **{name: changed, "concurrency": {"group": reported}})


# A model


@dataclass
class Line:
    """The simplest queue of a group: lists of its holding and of its waiting members."""

    holding: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    def leave(self, who: str) -> None:
        for side in (self.holding, self.waiting):
            if who in side:
                side.remove(who)

    @property
    def all(self) -> list[str]:
        return [*self.holding, *self.waiting]

    def position(self, who: str) -> int:
        return 0 if who in self.holding else self.waiting.index(who) + 1


class Model:
    """Three groups and five runs, each with two jobs and a called workflow.

    Each run, job and workflow is in at most one group.
    """

    def __init__(self) -> None:
        self.lines = {name: Line() for name in "abc"}
        self.over: set[int] = set()

    def of(self, who: str) -> str | None:
        return next((name for name, line in self.lines.items() if who in line.all), None)

    def stand(self, who: str, name: str, holds: bool) -> None:
        there = self.of(who)
        if there is not None and there != name:
            self.lines[there].leave(who)
            there = None
        line = self.lines[name]
        if holds and who not in line.holding:
            line.leave(who)
            line.holding.append(who)
        elif there is None:
            line.waiting.append(who)

    def end(self, run_number: int) -> None:
        for line in self.lines.values():
            for who in line.all:
                if who.split()[1] == str(run_number):
                    line.leave(who)
        self.over.add(run_number)


Step = tuple[str, int, str, bool]
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(
        st.sampled_from(["run", "job", "job2", "call", "end", "leave"]),
        st.integers(1, 5),
        st.sampled_from("abc"),
        st.booleans(),
    ),
    max_size=30,
)


@settings(max_examples=30, deadline=None)
@given(steps=steps)
def test_the_queue_matches_a_simple_model(world: World, steps: list[Step]) -> None:
    def play(db: Connection) -> Callable[[], None]:
        for table in ("concurrency_tally", "concurrency_group", "workflow_run"):
            db.execute(f"DELETE FROM {table}")
        model = Model()
        for moment, step in enumerate(steps):
            _step(db, world, model, moment, *step)
        _compare(db, world, model)
        return lambda: None

    world.store.write_sync(play)


def _step(
    db: Connection, world: World, model: Model, moment: int, kind: str, number: int, name: str,
    holds: bool,
) -> None:  # fmt: skip
    if number in model.over:
        return
    now = iso_micro(AT + moment * SECOND)
    event = {**projection_table.projected_events(db), "received_at": AT + moment * SECOND}
    reported = {"group": name, "status": "in_progress" if holds else "pending"}
    reported |= {"queued_at": now, "acquired_at": now}
    given = {"id": number, "updated_at": now, "status": "queued"}
    if kind == "end":
        given["status"] = "completed"
        _reflect(db, world, event, "workflow_run", given, {})
        model.end(number)
    elif kind == "leave":
        _reflect(db, world, event, "workflow_run", given, {"group": None})
        there = model.of(f"run {number}")
        if there is not None:
            model.lines[there].leave(f"run {number}")
    elif kind == "call":
        reusable = {"reusable": [{**reported, "path": "deploy"}]}
        _reflect(db, world, event, "workflow_run", given, reusable)
        model.stand(f"call {number}", name, holds)
    elif kind == "run":
        _reflect(db, world, event, "workflow_run", given, reported)
        model.stand(f"run {number}", name, holds)
    else:
        inside = number * 10 + (kind == "job2")
        job = {"id": inside, "run_id": number, "name": "deploy / x" if kind == "job2" else "x"}
        _reflect(db, world, event, "workflow_job", job, reported)
        model.stand(f"{kind} {number}", name, holds)


def _reflect(
    db: Connection, world: World, event: Row, name: str, given: Any, reported: dict[str, Any]
) -> None:
    event |= {"name": name, "repo_id": world.repo["id"]}
    projection_table.project(db, event, {name: given, "concurrency": reported})


def _compare(db: Connection, world: World, model: Model) -> None:
    repo_id = world.repo["id"]
    used = {name for name, line in model.lines.items() if line.all}
    groups = concurrency.active(db, repo_id, limit=9)
    assert [row["name"] for row in groups] == sorted(used)
    assert concurrency.count_active(db, repo_id) == len(used)
    for row in groups:
        line = model.lines[row["name"]]
        queue = concurrency.members(db, row["id"])
        assert [_called(each) for each in queue] == line.all
        assert [not each["waiting"] for each in queue] == [who in line.holding for who in line.all]
        assert row["members"] == len(queue)
        for number in range(1, 6):
            _compare_run(db, row, line, number)


def _called(member: Row) -> str:
    """The name of the member in the model."""
    if member["job_number"] is not None:
        kind = "job2" if member["job_number"] % 10 else "job"
    else:
        kind = "run" if member["path"] is None else "call"
    return f"{kind} {member['run_number']}"


def _compare_run(db: Connection, group: Row, line: Line, number: int) -> None:
    mine = [who for who in line.all if who.split()[1] == str(number)]
    run_row = workflow_runs.get(db, group["repo_id"], number)
    if run_row is not None:
        found = concurrency.own_members(db, run_row["id"], [group["id"]]).get(group["id"], [])
        assert {_called(each): each["position"] for each in found} == {
            who: line.position(who) for who in mine
        }
    jobs = {f"job {number}", f"job2 {number}"}
    others = [who for who in line.all if who not in jobs]
    _ahead(concurrency.ahead_of_run(db, group, number), others, [f"run {number}", f"call {number}"])
    _ahead(concurrency.ahead_of_job(db, group, number * 10), line.all, [f"job {number}"])
    inside = [f"job2 {number}"]
    if workflow_jobs.get(db, group["repo_id"], number * 10 + 1) is not None:
        inside.append(f"call {number}")
    _ahead(concurrency.ahead_of_job(db, group, number * 10 + 1), line.all, inside)


def _ahead(found: list[Row] | None, line: list[str], itself: list[str]) -> None:
    """Check that `found` is the queue up to the first name of `itself`, or None without any."""
    who = next((each for each in itself if each in line), None)
    expected = None if who is None else line[: line.index(who) + 1]
    assert (None if found is None else [_called(row) for row in found]) == expected
