"""Issue events from payloads of platforms: their kinds and their members."""

from typing import Any

import pytest
from issue_world import SHA, Platform, issue, later, pull
from statement_log import statements
from store_world import World

from store.accounts import accounts
from store.clock import SECOND, iso
from store.issues import issue_events
from store.issues.issue_references import LOOKED_AT_OF_PUSH
from store.projection import pull_request_projection
from store.projection.pull_request_projection import MOST_MESSAGE


@pytest.fixture
def platform(world: World) -> Platform:
    return Platform(world)


def account(platform: Platform, login: str) -> int:
    row = platform.world.store.read_sync(accounts.by_login, login)
    assert row is not None, login
    return int(row["id"])


BUG = {"id": 5, "name": "bug", "color": "d73a4a", "default": True}
AMY = {"login": "amy", "type": "User"}
TASK = {"id": 9, "node_id": "x", "name": "Task", "color": "red", "description": "A task"}
TEAM = {"id": 4, "name": "Core", "slug": "core", "privacy": "closed", "permission": "pull"}
# The action, members of the payload, members of the issue, and the kind and members of the event.
REPORTED = [
    ("labeled", {"label": BUG}, {}, "labeled", {"label": {"name": "bug", "color": "d73a4a"}}),
    ("unlabeled", {"label": BUG}, {}, "unlabeled", {"label": {"name": "bug", "color": "d73a4a"}}),
    (
        "milestoned",
        {"milestone": {"number": 1, "title": "v1"}},
        {},
        "milestoned",
        {"milestone": {"title": "v1"}},
    ),
    (
        "demilestoned",
        {"milestone": {"number": 1, "title": "v1"}},
        {},
        "demilestoned",
        {"milestone": {"title": "v1"}},
    ),
    (
        "locked",
        {},
        {"locked": True, "active_lock_reason": "spam"},
        "locked",
        {"lock_reason": "spam"},
    ),
    ("unlocked", {}, {}, "unlocked", {}),
    (
        "edited",
        {"changes": {"title": {"from": "Old"}}},
        {"title": "New"},
        "renamed",
        {"rename": {"from": "Old", "to": "New"}},
    ),
]
ISSUES = [
    *REPORTED,
    (
        "closed",
        {},
        {"state": "closed", "state_reason": "not_planned"},
        "closed",
        {"state_reason": "not_planned"},
    ),
    ("reopened", {}, {"state_reason": "reopened"}, "reopened", {"state_reason": "reopened"}),
    ("pinned", {}, {}, "pinned", {}),
    ("unpinned", {}, {}, "unpinned", {}),
    ("opened", {"changes": {"old_issue": {"number": 3}}}, {}, "transferred", {}),
    (
        "typed",
        {"type": TASK},
        {},
        "issue_type_added",
        {"issue_type": {"id": 9, "name": "Task", "color": "red"}},
    ),
    (
        "untyped",
        {"type": TASK},
        {},
        "issue_type_removed",
        {"issue_type": {"id": 9, "name": "Task", "color": "red"}},
    ),
    (
        "typed",
        {"type": TASK, "changes": {"type": {"from": {"id": 8, "name": "Bug"}}}},
        {},
        "issue_type_changed",
        {
            "issue_type": {"id": 9, "name": "Task", "color": "red"},
            "prev_issue_type": {"id": 8, "name": "Bug", "color": None},
        },
    ),
]
PULLS = [
    *REPORTED,
    ("closed", {}, {"state": "closed"}, "closed", {}),
    ("reopened", {}, {}, "reopened", {}),
    ("converted_to_draft", {}, {"draft": True}, "convert_to_draft", {}),
    ("ready_for_review", {}, {}, "ready_for_review", {}),
    ("edited", {"changes": {"base": {"ref": {"from": "next"}}}}, {}, "base_ref_changed", {}),
]


@pytest.mark.parametrize(("action", "payload", "given", "kind", "members"), ISSUES)
def test_events_of_issues_are_projected(
    platform: Platform, action: str, payload: Any, given: Any, kind: str, members: Any
) -> None:
    platform.report("issues", action, issue=issue(**given), **payload)
    (event,) = platform.events()
    assert (event["kind"], event["members"]) == (kind, members)
    assert event["actor_id"] == account(platform, "robin")
    assert event["created_at"] == later(0)
    assert event["commit_id"] is None


@pytest.mark.parametrize(("action", "payload", "given", "kind", "members"), PULLS)
def test_events_of_pull_requests_are_projected(
    platform: Platform, action: str, payload: Any, given: Any, kind: str, members: Any
) -> None:
    platform.report("pull_request", action, pull_request=pull(**given), **payload)
    (event,) = platform.events(2)
    assert (event["kind"], event["members"]) == (kind, members)


@pytest.mark.parametrize("action", ["assigned", "unassigned"])
def test_assignees_are_projected(platform: Platform, action: str) -> None:
    platform.report("issues", action, issue=issue(), assignee=AMY)
    (event,) = platform.events()
    assert event["kind"] == action
    assert event["members"] == {
        "assignee": account(platform, "amy"),
        "assigner": account(platform, "robin"),
    }


@pytest.mark.parametrize("action", ["review_requested", "review_request_removed"])
def test_reviewers_are_projected(platform: Platform, action: str) -> None:
    platform.report("pull_request", action, pull_request=pull(), requested_reviewer=AMY)
    platform.report("pull_request", action, pull_request=pull(), requested_team=TEAM)
    one, other = platform.events(2)
    assert one["kind"] == other["kind"] == action
    robin = account(platform, "robin")
    assert one["members"] == {
        "review_requester": robin,
        "requested_reviewer": account(platform, "amy"),
    }
    assert other["members"] == {"review_requester": robin, "requested_team": TEAM}


def test_a_merge_is_projected(platform: Platform) -> None:
    merged = pull(state="closed", merged=True, merge_commit_sha=SHA)
    platform.report("pull_request", "closed", pull_request=merged)
    assert [(event["kind"], event["commit_id"]) for event in platform.events(2)] == [
        ("merged", SHA),
        ("closed", None),
    ]


def test_a_new_title_and_base_make_two_events(platform: Platform) -> None:
    changes = {"title": {"from": "Old"}, "base": {"ref": {"from": "next"}}}
    platform.report("pull_request", "edited", pull_request=pull(), changes=changes)
    assert [event["kind"] for event in platform.events(2)] == ["renamed", "base_ref_changed"]
    assert platform.timeline(2) == ["renamed"]


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("issues", "opened"),
        ("issues", "edited"),
        ("issues", "labeled"),
        ("issues", "milestoned"),
        ("issues", "assigned"),
        ("issues", "typed"),
        ("issues", "field_added"),
        ("issues", "invented"),
        ("pull_request", "synchronize"),
        ("pull_request", "review_requested"),
        ("pull_request", "auto_merge_enabled"),
    ],
)
def test_incomplete_and_other_payloads_make_no_issue_event(
    platform: Platform, name: str, action: str
) -> None:
    given = {"issue": issue()} if name == "issues" else {"pull_request": pull(1)}
    platform.report(name, action, **given)
    assert platform.events() == []


@pytest.mark.parametrize(
    "odd",
    [
        {"issue": None},
        {"issue": "x"},
        {"issue": {}},
        {"issue": {"number": "1"}},
        {"issue": issue(), "label": "bug"},
        {"issue": issue(), "label": {"name": 5}},
        {"issue": issue(), "label": []},
    ],
)
def test_odd_payloads_are_passed_over(platform: Platform, odd: Any) -> None:
    platform.report("issues", "labeled", **odd)
    rows = platform.world.store.read_sync(
        issue_events.of_repository, platform.world.repo["id"], limit=9, offset=0
    )
    assert rows == []


def test_a_repeated_payload_makes_one_issue_event(platform: Platform) -> None:
    for _ in range(2):
        platform.report("issues", "labeled", issue=issue(), label=BUG)
    platform.report("issues", "labeled", issue=issue(), label={**BUG, "name": "ui"})
    platform.report("issues", "labeled", issue=issue(updated_at="2026-11-20T10:00:01Z"), label=BUG)
    assert [event["members"]["label"]["name"] for event in platform.events()] == [
        "bug",
        "ui",
        "bug",
    ]


def test_a_repeated_payload_of_a_fast_clock_makes_one_issue_event(platform: Platform) -> None:
    platform.report("pull_request", "opened", pull_request=pull())
    first = platform.world.now
    ahead = iso(first + 60 * SECOND)
    at = {"full_name": "ada/engine", "pushed_at": ahead}
    commits = [{**push()["commits"][0], "timestamp": ahead}]
    # The last ones arrive after the time that they name.
    for _ in range(3):
        platform.report("issues", "closed", issue=issue(state="closed", updated_at=ahead))
        platform.report("push", **push(forced=True, commits=commits, repository=at))
        platform.report("deployment", "created", deployment={"sha": SHA, "created_at": ahead})
        platform.world.clock.advance(40)
    assert platform.timeline() == ["closed", "referenced"]
    assert platform.timeline(2) == ["head_ref_force_pushed", "committed", "deployed"]
    assert {event["created_at"] for event in platform.events()} == {
        platform.world.now - 120 * SECOND
    }


def test_the_time_is_the_platforms_and_not_after_now(platform: Platform) -> None:
    platform.report("issues", "pinned", issue=issue(updated_at="2030-01-01T00:00:00Z"))
    platform.report("issues", "unpinned", issue=issue(updated_at="never"))
    assert [event["created_at"] for event in platform.events()] == [platform.world.now] * 2


def test_events_of_a_deleted_issue_are_hidden(platform: Platform) -> None:
    platform.report("issues", "pinned", issue=issue())
    (event,) = platform.events()
    platform.report("issues", "deleted", issue=issue())
    platform.report("issues", "labeled", issue=issue(), label=BUG)
    assert platform.events() == []
    assert platform.timeline() == []
    store, repo = platform.world.store, platform.world.repo["id"]
    assert store.read_sync(issue_events.of_repository, repo, limit=9, offset=0) == []
    # The event can still be read by its id. It has the time at which its issue was deleted.
    found = store.read_sync(issue_events.get, repo, event["id"])
    assert found == event | {"deleted_at": platform.issue()["deleted_at"]}
    assert platform.issue()["deleted_at"] is not None


def test_events_of_a_transferred_issue_are_hidden(platform: Platform) -> None:
    platform.report("issues", "pinned", issue=issue())
    changes = {"new_issue": {"number": 7}, "new_repository": {"full_name": "ada/other"}}
    platform.report("issues", "transferred", issue=issue(), changes=changes)
    assert platform.events() == []
    row = platform.issue()
    assert (row["moved_to"], row["moved_number"]) == ("ada/other", 7)


def test_the_newest_first_over_all_issues(platform: Platform) -> None:
    platform.report("issues", "pinned", issue=issue(1))
    platform.report("issues", "pinned", issue=issue(3, updated_at="2026-11-20T08:00:00Z"))
    platform.report("pull_request", "locked", pull_request=pull(2))
    store, repo = platform.world.store, platform.world.repo["id"]
    rows = store.read_sync(issue_events.of_repository, repo, limit=9, offset=0)
    assert [row["kind"] for row in rows] == ["locked", "pinned", "pinned"]
    assert [row["issue_id"] for row in rows[1:]] == [
        platform.issue(1)["id"],
        platform.issue(3)["id"],
    ]
    assert store.read_sync(issue_events.count_of_repository, repo, 2) == 2
    assert store.read_sync(issue_events.of_repository, repo, limit=1, offset=2) == rows[2:]


# Relations of issues


@pytest.mark.parametrize(
    ("name", "action", "own", "other", "member"),
    [
        ("sub_issues", "sub_issue_added", "parent_issue", "sub_issue", "sub_issue"),
        ("sub_issues", "sub_issue_removed", "parent_issue", "sub_issue", "sub_issue"),
        ("sub_issues", "parent_issue_added", "sub_issue", "parent_issue", "parent_issue"),
        ("sub_issues", "parent_issue_removed", "sub_issue", "parent_issue", "parent_issue"),
        ("issue_dependencies", "blocked_by_added", "blocked_issue", "blocking_issue", "blocked_by"),
        (
            "issue_dependencies",
            "blocked_by_removed",
            "blocked_issue",
            "blocking_issue",
            "blocked_by",
        ),
        ("issue_dependencies", "blocking_added", "blocking_issue", "blocked_issue", "blocking"),
        ("issue_dependencies", "blocking_removed", "blocking_issue", "blocked_issue", "blocking"),
    ],
)
def test_relations_of_issues_are_projected(
    platform: Platform, name: str, action: str, own: str, other: str, member: str
) -> None:
    beside = platform.world.another_repo()["id"]
    elsewhere = {f"{other}_repo": {"full_name": "ada/other"}}
    given = {own: issue(1), other: issue(8, title="Another")}
    platform.report(name, action, **given, **elsewhere)
    (event,) = platform.events()
    assert event["kind"] == action
    assert event["members"] == {
        member: {"number": 8, "title": "Another", "state": "open", "repo_id": beside}
    }
    platform.report(name, action, **{own: issue(1), other: {"number": "8"}})
    assert len(platform.events()) == 1


# Events of the branches of pull requests


def push(**changed: Any) -> dict[str, Any]:
    commit = {
        "id": SHA,
        "tree_id": "e" * 40,
        "message": "Spell it right, see #1",
        "timestamp": "2026-11-20T12:00:00+02:00",
        "author": {"name": "Octo", "email": "octo@cat.example", "username": "octo-cat"},
        "committer": {"name": "Web", "email": "noreply@forge.example"},
    }
    return {"ref": "refs/heads/changes", "after": SHA, "commits": [commit], **changed}


def test_a_push_adds_commits_to_the_pull_request_of_its_branch(platform: Platform) -> None:
    platform.report("issues", "opened", issue=issue(1))
    platform.report("pull_request", "opened", pull_request=pull())
    for _ in range(2):
        platform.report("push", **push())
    assert platform.timeline(2) == ["committed"]
    assert platform.events(2) == []
    (event,) = platform.events(1)
    assert (event["kind"], event["commit_id"]) == ("referenced", SHA)
    store = platform.world.store
    (row,) = store.read_sync(issue_events.timeline, platform.issue(2)["id"], limit=9, offset=0)
    assert row["commit_id"] == SHA
    assert row["created_at"] == later(0)
    assert row["members"] == {
        "message": "Spell it right, see #1",
        "tree": "e" * 40,
        "author": {"name": "Octo", "email": "octo@cat.example"},
        "committer": {"name": "Web", "email": "noreply@forge.example"},
    }


def test_a_forced_push_makes_an_event(platform: Platform) -> None:
    platform.report("pull_request", "opened", pull_request=pull())
    platform.report("push", **push(forced=True, commits=[]))
    (event,) = platform.events(2)
    assert (event["kind"], event["commit_id"]) == ("head_ref_force_pushed", SHA)


@pytest.mark.parametrize(
    "changed",
    [
        {"ref": "refs/heads/main"},
        {"ref": "refs/tags/changes"},
        {"ref": None},
        {"commits": {}},
        {"commits": ["x", {"id": "y"}, None]},
    ],
)
def test_a_push_to_another_branch_adds_nothing(platform: Platform, changed: Any) -> None:
    platform.report("pull_request", "opened", pull_request=pull())
    platform.report("push", **push(**changed))
    assert platform.timeline(2) == []


def test_a_push_adds_nothing_to_closed_and_forked_pull_requests(platform: Platform) -> None:
    platform.report("pull_request", "opened", pull_request=pull(2, state="closed"))
    fork = {"ref": "changes", "sha": SHA, "repo": {"full_name": "amy/engine"}}
    platform.report("pull_request", "opened", pull_request=pull(3, head=fork))
    platform.report("push", **push())
    assert platform.timeline(2) == platform.timeline(3) == []


def test_as_many_commits_of_a_push_as_are_looked_at(platform: Platform) -> None:
    platform.report("pull_request", "opened", pull_request=pull())
    many = [{**push()["commits"][0], "id": f"{number:040x}"} for number in range(300)]
    platform.report("push", **push(commits=many))
    count = platform.world.store.read_sync(
        issue_events.count_timeline, platform.issue(2)["id"], most=1000
    )
    assert count == 250


def test_the_statements_of_a_push_do_not_grow_with_its_references(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 5):
        platform.report("issues", "opened", issue=issue(number))
    platform.report("issues", "deleted", issue=issue(4))
    text = " ".join(f"#{number}" for number in (1, 2, 4, 900, 901, 902, 903, 904, 905, 906))
    asked = statements(monkeypatch)
    counts = []
    for size in (2, 250):
        one = {**push()["commits"][0], "message": text}
        many = [{**one, "id": f"{size:08x}{number:032x}"} for number in range(size)]
        asked.clear()
        platform.report("push", **push(commits=many))
        counts.append(len(asked))
    assert counts[1] <= counts[0] + 5
    # A push can refer to issues a thousand times.
    assert [len(platform.events(number)) for number in (1, 2, 3)] == [100, 100, 0]


def test_the_newest_pull_requests_get_the_commits_of_a_push_with_much_text(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (2, 3, 4):
        platform.report("pull_request", "opened", pull_request=pull(number))
    monkeypatch.setattr(pull_request_projection, "MOST_TEXT", 2 * MOST_MESSAGE)
    (one,) = push()["commits"]
    commits = [{**one, "message": "x" * MOST_MESSAGE}]
    platform.report("push", **push(commits=commits, forced=True))
    forced = "head_ref_force_pushed"
    assert [{*platform.timeline(number)} for number in (2, 3, 4)] == [
        {forced},
        {forced, "committed"},
        {forced, "committed"},
    ]


def test_only_so_much_text_of_a_push_is_searched_for_references(platform: Platform) -> None:
    platform.report("issues", "opened", issue=issue())
    (one,) = push()["commits"]
    fits = LOOKED_AT_OF_PUSH // MOST_MESSAGE
    message = "#1".ljust(MOST_MESSAGE)
    many = [{**one, "id": f"{number:040x}", "message": message} for number in range(fits + 5)]
    platform.report("push", **push(commits=many))
    assert len(platform.events()) == fits == 16


def test_a_branch_that_goes_and_comes_again(platform: Platform) -> None:
    gone = {"ref": "changes", "ref_type": "branch"}
    platform.report("create", **gone)
    platform.report("pull_request", "opened", pull_request=pull())
    platform.report("create", **gone)
    assert platform.events(2) == []
    # An organization's webhook and the repository's may both report it.
    for _ in range(2):
        platform.report("delete", **gone)
        platform.world.clock.advance(1)
    platform.report("create", **gone)
    platform.report("delete", ref="changes", ref_type="tag")
    platform.report("delete", ref="other", ref_type="branch")
    assert [event["kind"] for event in platform.events(2)] == [
        "head_ref_deleted",
        "head_ref_restored",
    ]


def test_a_second_webhook_repeats_no_deletion_and_no_restoration(platform: Platform) -> None:
    platform.report("pull_request", "opened", pull_request=pull())
    branch = {"ref": "changes", "ref_type": "branch"}
    for _ in range(2):
        for name, seconds in (("delete", 1), ("create", 5), ("delete", 9)):
            at = {"full_name": "ada/engine", "pushed_at": iso(later(seconds))}
            platform.report(name, **branch, repository=at)
            platform.world.clock.advance(1)
    kinds = [event["kind"] for event in platform.events(2)]
    assert kinds == ["head_ref_deleted", "head_ref_restored", "head_ref_deleted"]


def test_a_deployment_makes_an_event_of_its_pull_request(platform: Platform) -> None:
    platform.report("pull_request", "opened", pull_request=pull())
    for sha in (SHA, "0" * 40):
        platform.report("deployment", "created", deployment={"id": 1, "sha": sha})
    platform.report("deployment", "created", deployment="x")
    assert [event["kind"] for event in platform.events(2)] == ["deployed"]


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("deployment", {"deployment": {"sha": SHA}}),
        ("commit_comment", {"comment": {"id": 5, "commit_id": SHA, "body": "Hm"}}),
    ],
)
def test_more_pull_requests_of_a_commit_take_no_more_statements(
    platform: Platform, monkeypatch: pytest.MonkeyPatch, name: str, payload: dict[str, Any]
) -> None:
    asked = statements(monkeypatch)
    counts = []
    for numbers in (range(2, 4), range(4, 24)):
        for number in numbers:
            platform.report("pull_request", "opened", pull_request=pull(number))
        platform.world.clock.advance(1)
        platform.report(name, "created", **payload)
        asked.clear()
        platform.report(name, "created", **payload)
        counts.append(len(asked))
    # Rows are inserted in a few sizes.
    assert counts[1] <= counts[0] + 5
    assert len(platform.timeline(23)) >= 1
