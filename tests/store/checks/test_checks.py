"""Check runs and suites in the store: stored counts, and payloads of platforms."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from platform_events import report
from required import required
from store_world import World
from transactions import transaction

from store import Connection, Row
from store.accounts import accounts, apps
from store.checks import check_annotations, check_apps, check_counts, check_runs, check_suites
from store.checks.check_counts import CheckKind, sort_of
from store.checks.check_runs import CheckRunFilter
from store.clock import DAY, SECOND, iso
from store.delivery import sources
from store.projection import check_run_projection
from store.repositories import repository_removal

SHA = "ec26c3e57ca3a959ca5aad62de7213c562f8c821"
APP: dict[str, Any] = {
    "id": 29310,
    "slug": "octocoders-linter",
    "owner": {"login": "Octocoders", "id": 38302899, "type": "Organization"},
    "name": "octocoders-linter",
    "description": "",
    "external_url": "https://octocoders.github.io",
    "html_url": "https://github.com/apps/octocoders-linter",
    "created_at": "2019-04-19T19:36:24Z",
    "updated_at": "2019-04-19T19:36:56Z",
    "permissions": {"checks": "write", "metadata": "read"},
    "events": ["check_run"],
}
PULL = {
    "id": 279147437,
    "number": 2,
    "head": {"ref": "changes", "sha": SHA, "repo": {"id": 1}},
    "base": {"ref": "master", "sha": "f" * 40, "repo": {"id": 1}},
}


def reported_suite(**changed: Any) -> dict[str, Any]:
    return {
        "id": 118578147,
        "head_branch": "changes",
        "head_sha": SHA,
        "status": "queued",
        "conclusion": None,
        "before": "6" * 40,
        "after": SHA,
        "pull_requests": [PULL],
        "app": APP,
        "created_at": "2019-05-15T15:20:31Z",
        "updated_at": "2019-05-15T15:20:31Z",
        **changed,
    }


def reported(**changed: Any) -> dict[str, Any]:
    """A check run in the platform's shape."""
    return {
        "id": 128620228,
        "head_sha": SHA,
        "external_id": "",
        "details_url": "https://octocoders.github.io",
        "status": "queued",
        "conclusion": None,
        "started_at": "2019-05-15T15:21:12Z",
        "completed_at": None,
        "output": {"title": None, "summary": "S", "text": None, "annotations_count": 3},
        "name": "Octocoders-linter",
        "check_suite": reported_suite(),
        "app": APP,
        "pull_requests": [PULL],
        **changed,
    }


DONE = {"status": "completed", "conclusion": "success", "completed_at": "2019-05-15T15:22:12Z"}
FAILED = {"conclusion": "failure"}
LATEST = CheckRunFilter()


def reflect(world: World, **payload: Any) -> None:
    event = f"{next(iter(payload))}.created"
    report(world.store, world.repo, event, source_id=0, **payload)


def run_of(world: World, number: int = 128620228) -> Row | None:
    return world.store.read_sync(check_runs.get, world.repo["id"], number)


def suite_of(world: World, number: int = 118578147) -> Row:
    return required(world.store.read_sync(check_suites.get, world.repo["id"], number))


def app_of(world: World) -> Row:
    return world.store.read_sync(check_apps.of, [suite_of(world)["id"]])[suite_of(world)["id"]]


def own_suite(world: World, sha: str = SHA) -> Row:
    with transaction(world.store) as db:
        app = apps.by_name(db, "ci")
        if app is None:
            _, app = apps.create(
                db, world.user["id"], "ci", url="https://ci.example/", kind="integration"
            )
        return check_suites.of_app(db, world.repo["id"], sha, app["id"])[0]


def make_run(world: World, name: str = "lint", **fields: Any) -> Row:
    given = {"name": name, "status": "queued", **fields}
    return world.store.write_sync(check_runs.create, own_suite(world), given)


# Payloads of platforms


def test_an_unsigned_run_has_no_app_of_this_installation(world: World) -> None:
    own = own_suite(world, "1" * 40)
    for source_id in (0, sources.OPERATOR):
        forged = reported(app=APP | {"id": own["app_number"]}, id=7 + source_id)
        del forged["check_suite"]["app"]
        forged["check_suite"]["id"] = forged["id"]
        run = {"check_run": forged, "source_id": source_id}
        report(world.store, world.repo, "check_run.created", **run)
    assert suite_of(world, 7)["app_number"] is None
    assert suite_of(world, 7 + sources.OPERATOR)["app_number"] == own["app_number"]


def test_an_unsigned_event_changes_no_check_that_a_source_signed(world: World) -> None:
    ahead = iso(world.now + DAY // 2)
    reflect(world, check_suite=reported_suite(head_sha="F" * 40, updated_at=ahead))
    signed = {"source_id": sources.OPERATOR, "check_run": reported()}
    report(world.store, world.repo, "check_run.created", **signed)
    before = run_of(world), suite_of(world), app_of(world)
    assert before[1]["head_sha"] == SHA
    forged = reported_suite(head_branch="forged", updated_at=ahead)
    reflect(world, check_run=reported(**DONE))
    reflect(world, check_run=reported(check_suite=forged | {"id": 8}, **DONE))
    reflect(world, check_suite=forged)
    reflect(world, check_run=reported(id=9, name="joined", check_suite=forged))
    app = APP | {"external_url": "https://forged.example", "updated_at": ahead}
    reflect(world, check_suite=forged | {"id": 10, "app": app})
    assert (run_of(world), suite_of(world), app_of(world)) == before
    assert run_of(world, 9) is None


def test_a_source_s_event_replaces_invented_checks(world: World) -> None:
    ahead = iso(world.now + DAY // 2)
    app = APP | {"external_url": "https://forged.example", "updated_at": ahead}
    invented = reported_suite(updated_at=ahead, app=app)
    other_suite = invented | {"id": 8, "head_sha": "f" * 40}
    forged = DONE | {"started_at": ahead, "completed_at": ahead}
    reflect(world, check_run=reported(check_suite=invented, **forged))
    reflect(world, check_run=reported(id=9, name="lint", check_suite=invented, **forged))
    reflect(world, check_run=reported(id=7, name="unit", check_suite=other_suite, **forged))
    of_suite = {"id": 118578147, "head_sha": SHA}
    for number, name in ((128620228, "Octocoders-linter"), (9, "lint"), (7, "unit")):
        failed = reported(id=number, name=name, check_suite=of_suite, **DONE | FAILED)
        report(world.store, world.repo, "check_run.completed", source_id=1, check_run=failed)
        run = required(run_of(world, number))
        assert (run["conclusion"], run["suite_number"]) == ("failure", 118578147)
        reflect(world, check_run=reported(id=number, check_suite=other_suite, **DONE))
        assert run_of(world, number) == run
    ended = reported_suite(**FAILED, status="completed")
    report(world.store, world.repo, "check_suite.completed", source_id=1, check_suite=ended)
    assert suite_of(world)["conclusion"] == "failure"
    assert app_of(world)["external_url"] == APP["external_url"]
    for suite in (suite_of(world), suite_of(world, 8)):
        known = world.store.read_sync(check_runs.page, [suite["id"]], LATEST, limit=9, offset=0)
        kinds = world.store.read_sync(check_counts.latest, suite["id"])
        assert Counter(map(sort_of, known)) == Counter(kinds)


def test_a_run_is_kept_with_its_suite_and_app(world: World) -> None:
    reflect(world, check_run=reported())
    run, suite = run_of(world), suite_of(world)
    assert run is not None
    assert (
        run.items()
        >= {
            "number": 128620228,
            "suite_number": 118578147,
            "head_sha": SHA,
            "name": "Octocoders-linter",
            "status": "queued",
            "started_at": 1_557_933_672_000_000,
            "summary": "S",
            "annotations": 3,
            "app_id": None,
            "app_number": 29310,
            "reflected": 1,
            "latest": 1,
        }.items()
    )
    assert (suite["head_branch"], suite["before_sha"], suite["status"]) == (
        "changes",
        "6" * 40,
        "queued",
    )
    app = world.store.read_sync(check_apps.of, [suite["id"]])[suite["id"]]
    owner = required(world.store.read_sync(accounts.by_login, "octocoders"))
    assert (
        app.items()
        >= {
            "number": 29310,
            "slug": "octocoders-linter",
            "owner_id": owner["id"],
            "permissions": {"checks": "write", "metadata": "read"},
            "events": ["check_run"],
        }.items()
    )
    assert '"head_ref":"changes"' in run["pulls"]


def test_a_suite_stands_as_the_platform_says(world: World) -> None:
    reflect(world, check_run=reported(**DONE))
    assert suite_of(world)["status"] == "queued"
    world.store.write_sync(check_suites.roll_up, suite_of(world)["id"])
    assert suite_of(world)["status"] == "queued"
    later = reported_suite(
        status="completed", conclusion="failure", updated_at="2019-05-15T15:23:00Z"
    )
    reflect(world, check_suite=later)
    assert (suite_of(world)["status"], suite_of(world)["conclusion"]) == ("completed", "failure")
    reflect(world, check_suite=reported_suite())
    assert suite_of(world)["status"] == "completed"


def test_a_suite_stays_complete_when_its_last_run_comes_later_in_the_second(world: World) -> None:
    at = {"updated_at": "2019-05-15T15:22:12Z"}
    done = reported_suite(status="completed", conclusion="success", **at)
    reflect(world, check_suite=done)
    reflect(world, check_run=reported(check_suite=reported_suite(status="in_progress", **at)))
    assert (suite_of(world)["status"], suite_of(world)["conclusion"]) == ("completed", "success")
    again = reported_suite(status="queued", conclusion=None, updated_at="2019-05-15T15:22:13Z")
    reflect(world, check_suite=again)
    assert suite_of(world)["status"] == "queued"


def test_a_smaller_word_blanks_nothing(world: World) -> None:
    reflect(world, check_run=reported())
    before = run_of(world)
    reflect(world, check_run={"id": 128620228, "check_suite": {"id": 118578147}})
    assert run_of(world) == before
    assert suite_of(world)["head_branch"] == "changes"
    reflect(world, check_run=reported(external_id=None, output={"title": "T"}))
    after = required(run_of(world))
    assert (after["external_id"], after["title"], after["summary"]) == (None, "T", "S")


def test_a_suite_is_made_from_a_run_that_names_it(world: World) -> None:
    reflect(world, check_run=reported(check_suite={"id": 5}))
    assert suite_of(world, 5)["head_sha"] == SHA
    assert suite_of(world, 5)["app_number"] == 29310


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ([reported(**DONE), reported()], "completed"),
        (
            [reported(**DONE), reported(status="in_progress", started_at=DONE["completed_at"])],
            "completed",
        ),
        (
            [reported(**DONE), reported(status="queued", started_at="2019-05-15T15:23:00Z")],
            "queued",
        ),
        ([reported(), reported(status="in_progress")], "in_progress"),
        ([reported(**DONE), reported(**DONE | {"conclusion": "failure"})], "completed"),
    ],
)
def test_an_older_payload_does_not_change_a_check_run(
    world: World, words: list[Any], status: str
) -> None:
    for word in words:
        reflect(world, check_run=word)
    run = required(run_of(world))
    assert run["status"] == status
    if len(words) == 2 and words[1].get("conclusion") == "failure":
        assert run["conclusion"] == "failure"


def test_a_time_far_ahead_freezes_neither_a_check_run_nor_its_app(world: World) -> None:
    ahead = "2099-01-01T00:00:00Z"
    early = APP | {"name": "early", "updated_at": ahead}
    suite = reported_suite(app=early)
    reflect(world, check_run=reported(**DONE | {"completed_at": ahead}, check_suite=suite))
    failed = DONE | {"conclusion": "failure"}
    reflect(world, check_run=reported(**failed))
    reflect(world, check_run=reported(**DONE | {"completed_at": "2019-05-15T15:22:11Z"}))
    run, suite_id = run_of(world), suite_of(world)["id"]
    assert run is not None
    assert (run["conclusion"], iso(run["completed_at"])) == ("failure", DONE["completed_at"])
    assert world.store.read_sync(check_apps.of, [suite_id])[suite_id]["name"] == APP["name"]


def test_a_time_that_was_far_ahead_freezes_no_check_run_when_it_is_near(world: World) -> None:
    ahead = iso(world.now + 3 * DAY)
    early = APP | {"name": "early", "updated_at": ahead}
    suite = reported_suite(app=early)
    reflect(world, check_run=reported(**DONE | {"completed_at": ahead}, check_suite=suite))
    world.clock.advance(2.5 * DAY / SECOND)
    failed = DONE | {"conclusion": "failure", "completed_at": iso(world.now)}
    late = reported_suite(app=APP | {"updated_at": iso(world.now)})
    reflect(world, check_run=reported(**failed, check_suite=late))
    run, suite_id = run_of(world), suite_of(world)["id"]
    assert run is not None
    assert run["conclusion"] == "failure"
    assert world.store.read_sync(check_apps.of, [suite_id])[suite_id]["name"] == APP["name"]


def test_stale_is_a_platform_s_word(world: World) -> None:
    reflect(world, check_run=reported(**DONE | {"conclusion": "stale"}))
    run = required(run_of(world))
    assert run["conclusion"] == "stale"


def test_the_newest_of_a_name_by_the_platform_s_count(world: World) -> None:
    reflect(world, check_run=reported(id=9))
    reflect(world, check_run=reported(id=7))
    nine, seven = run_of(world, 9), run_of(world, 7)
    assert nine is not None
    assert seven is not None
    assert (nine["latest"], seven["latest"]) == (1, 0)


def test_a_platform_cannot_change_runs_that_were_made_here(world: World) -> None:
    mine = make_run(world)
    reflect(world, check_run=reported(id=mine["number"]))
    reflect(world, check_run=reported(check_suite=reported_suite(id=mine["suite_number"])))
    reflect(world, check_suite=reported_suite(id=mine["suite_number"], status="completed"))
    assert run_of(world, mine["number"]) == mine
    assert suite_of(world, mine["suite_number"])["status"] == "queued"
    assert run_of(world) is None


def test_a_platform_s_number_is_not_given_here(world: World) -> None:
    first = make_run(world)
    # The rows of the payloads use the next three ids, so the own rows would get these numbers.
    taken = set(range(first["id"] + 4, first["id"] + 7))
    for number in taken:
        reflect(world, check_run=reported(id=number, check_suite=reported_suite(id=number)))
    numbers = {make_run(world)["number"] for _ in range(5)}
    suites = {own_suite(world, sha * 40)["number"] for sha in "abc"}
    assert not numbers & taken
    assert not suites & taken
    assert len(numbers) == 5
    assert len(suites) == 3


def test_numbers_are_a_repository_s(world: World) -> None:
    reflect(world, check_run=reported())
    other_suite = world.another_repo()["id"]
    assert world.store.read_sync(check_runs.get, other_suite, 128620228) is None
    assert world.store.read_sync(check_suites.get, other_suite, 118578147) is None


def test_an_app_s_later_word(world: World) -> None:
    reflect(world, check_run=reported())
    for name, at in (("renamed", "2020-01-01T00:00:00Z"), ("old", "2018-01-01T00:00:00Z")):
        app = APP | {"name": name, "updated_at": at}
        reflect(world, check_run=reported(app=app, check_suite=reported_suite(app=app)))
        # This payload is as old as the stored suite, so it is not ignored as outdated.
        reflect(world, check_suite=reported_suite(app=app))
    suite_id = suite_of(world)["id"]
    assert world.store.read_sync(check_apps.of, [suite_id])[suite_id]["name"] == "renamed"


def test_an_app_in_an_event_changes_in_no_other_repository(world: World) -> None:
    reflect(world, check_suite=reported_suite(app=APP))
    suite_id = suite_of(world)["id"]
    before = world.store.read_sync(check_apps.of, [suite_id])
    another = World(world.store, world.clock, world.user, world.another_repo())
    later = APP | {"name": "Evil", "html_url": "https://evil.example", "updated_at": "2099-01-01"}
    reflect(another, check_suite=reported_suite(app=later))
    assert world.store.read_sync(check_apps.of, [suite_id]) == before
    theirs = suite_of(another)["id"]
    assert world.store.read_sync(check_apps.of, [theirs])[theirs]["name"] == "Evil"
    world.store.write_sync(repository_removal.remove, another.repo)
    assert world.store.read_sync(check_apps.of, [suite_id]) == before


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just("\0"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*reported(), *reported_suite(), *APP, *PULL, "title", "ref"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@settings(max_examples=60)
@given(
    name=st.sampled_from(["check_run", "check_suite"]),
    changed=st.dictionaries(st.sampled_from([*reported(), *reported_suite()]), odd, max_size=4),
)
def test_any_check_run_is_projected_without_an_error(
    world: World, name: str, changed: dict[str, Any]
) -> None:
    given = reported() if name == "check_run" else reported_suite()
    reflect(world, **{name: given | changed})
    reflect(world, **{name: changed})


def test_long_values_are_cut(world: World) -> None:
    long = "x" * 100_000
    many = [PULL] * 500
    app = APP | {
        "permissions": {str(number): long for number in range(1_000)},
        "events": [long] * 1_000,
        "description": long,
    }
    output = {"title": long, "summary": long, "text": long}
    reflect(
        world,
        check_run=reported(
            name=long,
            output=output,
            external_id=long,
            pull_requests=many,
            check_suite=reported_suite(app=app, pull_requests=many),
        ),
    )
    run = required(run_of(world))
    assert len(run["name"]) == 255
    assert (len(run["summary"]), len(run["content"])) == (65_535, 65_535)
    assert len(run["pulls"]) < 20_000
    kept = world.store.read_sync(check_apps.of, [run["suite_id"]])[run["suite_id"]]
    assert (len(kept["permissions"]), len(kept["events"])) == (100, 200)


# Counts


def test_a_suite_is_made_once(world: World) -> None:
    first, again = own_suite(world), own_suite(world)
    assert first == again
    assert first["number"] == first["id"]


def test_the_newest_thousand_runs_of_a_name_are_kept(world: World) -> None:
    suite = own_suite(world)

    with transaction(world.store) as db:
        columns = "repo_id, suite_id, number, name, status, created_at, updated_at"
        rows = [
            (world.repo["id"], suite["id"], number, name, "queued", 0, 0)
            for name, numbers in (("many", range(10_000, 11_000)), ("other", range(9_000, 9_005)))
            for number in numbers
        ]
        db.insert_many("check_run", columns, rows)
        check_counts.count(db, suite["id"], Counter({CheckKind(0, "queued", "", 0): len(rows)}))
        # A run made here would get its small id as its number, so this one is a platform's run.
        reflected = {**suite, "reflected": 1}
        check_run_projection.write_run(
            db, reflected, 20_000, None, {"name": "many", "status": "queued"}
        )
    in_all = CheckRunFilter(only_latest=False)
    assert world.store.read_sync(check_runs.count, [suite["id"]], in_all) == 1_005
    named = CheckRunFilter("many", only_latest=False)
    assert world.store.read_sync(check_runs.count, [suite["id"]], named) == 1_000
    assert run_of(world, 10_000) is None
    assert run_of(world, 10_001) is not None
    assert run_of(world, 9_000) is not None


steps = st.lists(
    st.tuples(
        st.sampled_from(["create", "update", "ask"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from([("queued", None), ("in_progress", None), ("completed", "success"),
                         ("completed", "failure")]),
        st.integers(0, 20),
    ),
    max_size=25,
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(steps=steps)
def test_the_counts_match_a_model(
    world: World, monkeypatch: pytest.MonkeyPatch, steps: list[Any]
) -> None:
    monkeypatch.setattr(check_runs, "MOST_OF_A_NAME", 4)

    with transaction(world.store) as db:
        db.execute("DELETE FROM check_suite")
        suite = _suite(db, world)
        model: list[dict[str, Any]] = []
        for kind, name, (status, conclusion), chosen in steps:
            fields = {"name": name, "status": status, "conclusion": conclusion}
            if kind == "create" or not model:
                made = check_runs.create(db, suite, fields)
                written = {**fields, "id": made["id"], "again": 0}
                model.append(written)
                # The new run answers the requests.
                for run in model:
                    run["again"] *= run["name"] != name
            else:
                written = model[chosen % len(model)]
                _change(db, world, kind, written, fields)
            for each in ("a", "b"):
                same = [run for run in model if run["name"] == each]
                # The run that is written stays, also if it is the oldest.
                same.sort(key=lambda run: (run is written, _id(run)))
                for gone in same[:-4]:
                    model.remove(gone)
        _compare(db, suite, model)


def _id(run: dict[str, Any]) -> int:
    return int(run["id"])


def _suite(db: Connection, world: World) -> Row:
    app = apps.by_name(db, "ci")
    if app is None:
        _, app = apps.create(
            db, world.user["id"], "ci", url="https://ci.example/", kind="integration"
        )
    return check_suites.of_app(db, world.repo["id"], SHA, app["id"])[0]


def _change(db: Connection, world: World, kind: str, run: dict[str, Any], fields: Any) -> None:
    row = required(check_runs.by_id(db, run["id"]))
    if kind == "ask":
        check_runs.ask_again(db, row)
        run["again"] = 1
    else:
        check_runs.update(db, row, fields)
        run |= {**fields, "again": 0}


def _compare(db: Connection, suite: Row, model: list[dict[str, Any]]) -> None:
    last = {run["name"]: run["id"] for run in sorted(model, key=_id)}
    expected = Counter(
        CheckKind(
            int(last[run["name"]] == run["id"]),
            run["status"],
            run["conclusion"] or "",
            run["again"],
        )
        for run in model
    )
    rows = db.all("SELECT * FROM check_run WHERE suite_id = :id", id=suite["id"])
    assert Counter(sort_of(row) for row in rows) == expected
    tallies = db.all("SELECT * FROM check_tally WHERE suite_id = :id", id=suite["id"])
    assert {sort_of(row): row["runs"] for row in tallies if row["runs"]} == expected
    for status in (None, "queued", "in_progress", "completed"):
        for name in (None, "a"):
            for only_latest in (True, False):
                chosen = CheckRunFilter(name, status, only_latest)
                found = check_runs.page(db, [suite["id"]], chosen, limit=99, offset=0)
                assert check_runs.count(db, [suite["id"]], chosen) == len(found)
                assert [row["id"] for row in found] == sorted(
                    (
                        run["id"]
                        for run in model
                        if status in (None, run["status"])
                        and name in (None, run["name"])
                        and (not only_latest or last[run["name"]] == run["id"])
                    ),
                    reverse=True,
                )


def test_annotations_are_a_run_s_own(world: World) -> None:
    run, other = make_run(world), make_run(world, "other")
    lines = [
        {"path": "a", "start_line": n, "end_line": n, "level": "notice", "message": str(n)}
        for n in range(3)
    ]
    world.store.write_sync(check_annotations.append, run["id"], lines)
    world.store.write_sync(check_annotations.append, other["id"], lines[:1])
    world.store.write_sync(check_annotations.append, run["id"], [])
    found = world.store.read_sync(check_annotations.page, run["id"], limit=2, offset=1)
    assert [row["message"] for row in found] == ["1", "2"]
    assert world.store.write_sync(check_annotations.replace, run["id"], lines) is False
    assert world.store.write_sync(check_annotations.replace, run["id"], lines[1:]) is True
    counted = [world.store.read_sync(check_runs.by_id, each["id"]) for each in (run, other)]
    assert [row["annotations"] for row in counted if row] == [2, 1]
