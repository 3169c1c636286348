"""Comments on issues and pull requests, with their mentions and references."""

from typing import Any

import pytest
from issue_world import SHA, Platform, issue, later, pull
from required import required
from store_world import World

from store import Row
from store.accounts import accounts
from store.clock import iso
from store.database.external_ids import ABOVE
from store.issues import (
    comment_changes,
    commit_comments,
    issue_changes,
    issue_comments,
    issue_events,
    pulls,
)
from store.issues.issue_references import MOST, references_of
from store.repositories import repositories


@pytest.fixture
def platform(world: World) -> Platform:
    return Platform(world)


def comment(**changed: Any) -> dict[str, Any]:
    given = {
        "id": 492700400,
        "user": {"login": "octo-cat", "type": "User"},
        "created_at": "2026-11-20T10:00:05Z",
        "updated_at": "2026-11-20T10:00:05Z",
        "author_association": "MEMBER",
        "body": "You are totally right!",
    }
    return given | changed


def review(**changed: Any) -> dict[str, Any]:
    given = {
        "id": 237895671,
        "user": {"login": "amy", "type": "User"},
        "body": "Looks *good*",
        "commit_id": SHA,
        "submitted_at": "2026-11-20T10:00:06Z",
        "state": "approved",
        "author_association": "OWNER",
    }
    return given | changed


def said(platform: Platform, kind: str, number: int) -> Row | None:
    return platform.world.store.read_sync(
        issue_comments.find, platform.world.repo["id"], kind, number
    )


def test_a_comment_is_projected(platform: Platform) -> None:
    platform.report("issue_comment", "created", issue=issue(), comment=comment())
    row = required(said(platform, "comment", 492700400))
    assert (row["body"], row["author_association"]) == ("You are totally right!", "MEMBER")
    assert platform.timeline() == ["commented"]
    assert platform.events() == []
    (event,) = platform.world.store.read_sync(
        issue_events.timeline, platform.issue()["id"], limit=9, offset=0
    )
    assert (event["subject_id"], event["actor_id"]) == (row["id"], row["author_id"])
    assert event["created_at"] == later(5)


def test_a_comment_that_changes_and_goes(platform: Platform) -> None:
    platform.report("issue_comment", "created", issue=issue(), comment=comment())
    changed = comment(body="Hm", updated_at="2026-11-20T10:01:00Z")
    platform.report("issue_comment", "edited", issue=issue(), comment=changed)
    # An older payload changes nothing.
    platform.report("issue_comment", "edited", issue=issue(), comment=comment(body="old"))
    row = required(said(platform, "comment", 492700400))
    assert row["body"] == "Hm"
    assert platform.timeline() == ["commented"]
    platform.report("issue_comment", "deleted", issue=issue(), comment=changed)
    assert said(platform, "comment", 492700400) is None
    assert platform.timeline() == []


def test_a_comment_made_here_leaves_its_id_to_the_platforms_comment(platform: Platform) -> None:
    platform.report("issues", "opened", issue=issue())
    store, repo, user = platform.world.store, platform.world.repo, platform.world.user["id"]
    number = store.write_sync(
        comment_changes.create, repo, platform.issue(), user, "Ours", association="OWNER"
    )["number"]
    ours = required(said(platform, "comment", number))
    at = {"updated_at": "2026-11-21T08:00:00Z"}
    platform.world.clock.advance(3_600)
    theirs = comment(id=number, body="Theirs", **at)
    for action in ("created", "edited", "pinned"):
        platform.report("issue_comment", action, issue=issue(comments=1, **at), comment=theirs)
    row, moved = said(platform, "comment", number), said(platform, "comment", number + ABOVE)
    assert row is not None
    assert (row["body"], row["pinned_at"] is not None) == ("Theirs", True)
    assert moved == ours | {"number": number + ABOVE, "updated_at": platform.world.clock.now()}
    assert platform.timeline() == ["commented", "commented"]
    assert platform.issue()["comments"] == 2
    for _ in range(2):
        platform.report("issue_comment", "deleted", issue=issue(comments=0, **at), comment=theirs)
    assert said(platform, "comment", number) is None
    assert said(platform, "comment", number + ABOVE) == moved
    assert platform.timeline() == ["commented"]
    assert platform.issue()["comments"] == 1


def test_a_deletion_of_the_platforms_comment_leaves_a_comment_made_here(platform: Platform) -> None:
    platform.report("issues", "opened", issue=issue())
    store, repo, user = platform.world.store, platform.world.repo, platform.world.user["id"]
    number = store.write_sync(
        comment_changes.create, repo, platform.issue(), user, "Ours", association="OWNER"
    )["number"]
    platform.report("issue_comment", "deleted", issue=issue(), comment=comment(id=number))
    row = required(said(platform, "comment", number + ABOVE))
    assert row["body"] == "Ours"


@pytest.mark.parametrize(
    ("on", "name"), [("issue", "issue_comment"), ("pull_request", "pull_request_review_comment")]
)
def test_an_issue_made_here_leaves_its_number_to_the_platforms(
    platform: Platform, on: str, name: str
) -> None:
    """The platform's may be older: before its first event, the hub does not know of its number."""
    store, repo, user = platform.world.store, platform.world.repo, platform.world.user["id"]
    ours = store.write_sync(issue_changes.create, repo, user, {"title": "Ours", "body": "One"})
    store.write_sync(comment_changes.create, repo, ours, user, "A comment", association="OWNER")
    theirs = issue(1) if on == "issue" else pull(1)
    platform.report(name, "created", **{on: theirs}, comment=comment(body="Theirs"))
    assert comments_on(platform, 1) == ("Spelling error", ["Theirs"])
    assert comments_on(platform, 2) == ("Ours", ["A comment"])
    assert platform.issue(2)["id"] == ours["id"]
    heads = store.read_sync(pulls.of_heads, repo, [SHA])
    assert bool(heads) == (on == "pull_request")
    assert store.write_sync(issue_changes.create, repo, user, {"title": "Next"})["number"] == 3


def comments_on(platform: Platform, number: int) -> tuple[str, list[str]]:
    """The title of an issue, and the texts of its comments."""
    row = platform.issue(number)
    sql = "SELECT body FROM issue_comment WHERE issue_id = :id ORDER BY id"
    found = platform.world.store.read_sync(lambda db: db.tuples(sql, id=row["id"]))
    return row["title"], [body for (body,) in found]


@pytest.mark.parametrize(("first", "last"), [(1, 2), (2, 1)])
def test_the_last_pinned_comment_is_pinned(platform: Platform, first: int, last: int) -> None:
    """Also if the payloads have the same times, in whole seconds."""
    issue_id = None
    for number, action in ((1, "created"), (2, "created"), (first, "pinned"), (last, "pinned")):
        platform.world.clock.advance(1)
        platform.report("issue_comment", action, issue=issue(), comment=comment(id=number))
        issue_id = platform.issue()["id"]
    store = platform.world.store
    found = store.read_sync(issue_comments.pinned, [issue_id])
    assert found[issue_id]["number"] == last
    robin = required(store.read_sync(accounts.by_login, "robin"))
    assert found[issue_id]["pinned_by_id"] == robin["id"]
    for number in (1, 2):
        platform.report("issue_comment", "unpinned", issue=issue(), comment=comment(id=number))
    assert store.read_sync(issue_comments.pinned, [issue_id]) == {}


@pytest.mark.parametrize("late", ["pinned", "unpinned"])
def test_a_late_pin_changes_nothing(platform: Platform, late: str) -> None:
    def report(action: str, seconds: int) -> None:
        at = {"updated_at": iso(later(seconds))}
        platform.report("issue_comment", action, issue=issue(**at), comment=comment(id=1, **at))

    first, last = ("pinned", "unpinned") if late == "pinned" else ("unpinned", "pinned")
    for action, seconds in (("created", 0), (first, 1), (last, 2), (first, 1)):
        report(action, seconds)
    found = platform.world.store.read_sync(issue_comments.pinned, [platform.issue()["id"]])
    assert len(found) == (last == "pinned")
    report(first, 3)
    found = platform.world.store.read_sync(issue_comments.pinned, [platform.issue()["id"]])
    assert len(found) == (first == "pinned")


def test_a_review_and_its_end(platform: Platform) -> None:
    platform.report("pull_request_review", "submitted", pull_request=pull(), review=review())
    row = required(said(platform, "review", 237895671))
    assert (row["state"], row["commit_id"], row["body"]) == ("approved", SHA, "Looks *good*")
    assert row["created_at"] == later(6)
    dismissed = review(state="dismissed")
    platform.report("pull_request_review", "dismissed", pull_request=pull(), review=dismissed)
    assert platform.timeline(2) == ["review_dismissed", "reviewed"]
    (event,) = platform.events(2)
    # The event has the review's state before the dismissal.
    dismissed = {"state": "approved", "review_id": 237895671, "dismissal_message": None}
    assert event["members"] == {"dismissed_review": dismissed}
    row = required(said(platform, "review", 237895671))
    assert row["state"] == "dismissed"


@pytest.mark.parametrize("late", ["submitted", "edited", "dismissed"])
def test_a_late_event_of_a_dismissed_review_changes_nothing(platform: Platform, late: str) -> None:
    """A review has no time of its last change. Its pull request has one."""
    events = {}
    for second, (action, state) in enumerate(
        [("submitted", "approved"), ("edited", "approved"), ("dismissed", "dismissed")]
    ):
        on = pull(updated_at=f"2026-11-20T10:00:0{second + 7}Z")
        events[action] = {"pull_request": on, "review": review(state=state, body=action)}
        platform.report("pull_request_review", action, **events[action])
    before, timeline = said(platform, "review", 237895671), platform.timeline(2)
    assert before is not None
    assert (before["state"], before["body"]) == ("dismissed", "dismissed")
    platform.report("pull_request_review", late, **events[late])
    assert said(platform, "review", 237895671) == before
    assert platform.timeline(2) == timeline


def test_a_dismissal_that_a_later_edit_overtakes_is_in_the_timeline_once(
    platform: Platform,
) -> None:
    ended = {"review": review(state="dismissed")}
    first, later_one = (pull(updated_at=f"2026-11-20T10:00:0{second}Z") for second in (7, 8))
    platform.report("pull_request_review", "submitted", pull_request=first, review=review())
    platform.report("pull_request_review", "edited", pull_request=later_one, **ended)
    for on in (first, later_one):
        platform.report("pull_request_review", "dismissed", pull_request=on, **ended)
    assert sorted(platform.timeline(2)) == ["review_dismissed", "reviewed"]


def test_a_comment_on_a_line_is_stored_with_its_place(platform: Platform) -> None:
    given = comment(
        path="a.py",
        position=3,
        line=7,
        side="RIGHT",
        diff_hunk="@@ -1 +1 @@",
        commit_id=SHA,
        original_commit_id=SHA,
        pull_request_review_id=237895671,
        start_line=None,
        start_side="UP",
    )
    report = ("pull_request_review_comment", "created")
    platform.report(*report, pull_request=pull(), comment=given)
    assert platform.timeline(2) == ["line-commented"]
    row = required(said(platform, "line", 492700400))
    assert row["details"] == {
        "path": "a.py",
        "position": 3,
        "line": 7,
        "side": "RIGHT",
        "diff_hunk": "@@ -1 +1 @@",
        "original_commit_id": SHA,
        "pull_request_review_id": 237895671,
        "start_line": None,
    }
    # The later payload lacks most members, and these stay as they are.
    less = comment(line=8, updated_at="2026-11-20T11:00:00Z")
    platform.report("pull_request_review_comment", "edited", pull_request=pull(), comment=less)
    row = required(said(platform, "line", 492700400))
    assert (row["details"]["line"], row["details"]["path"]) == (8, "a.py")


def test_comments_of_different_kinds_can_share_an_id(platform: Platform) -> None:
    platform.report("issue_comment", "created", issue=issue(2), comment=comment(id=1))
    platform.report("pull_request_review", "submitted", pull_request=pull(), review=review(id=1))
    assert sorted(platform.timeline(2)) == ["commented", "reviewed"]


def test_a_comment_on_a_head_commit_is_in_the_timeline(platform: Platform) -> None:
    platform.report("pull_request", "opened", pull_request=pull())
    for number, sha in ((1, SHA), (2, "0" * 40)):
        given = comment(id=number, commit_id=sha)
        platform.report("commit_comment", "created", comment=given)
    assert platform.timeline(2) == ["commit-commented"]
    store = platform.world.store
    (event,) = store.read_sync(issue_events.timeline, platform.issue(2)["id"], limit=9, offset=0)
    known = required(store.read_sync(commit_comments.get, platform.world.repo["id"], 1))
    assert event["subject_id"] == known["id"]


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("issue_comment", {"issue": issue(), "comment": None}),
        ("issue_comment", {"issue": issue(), "comment": {"id": "1"}}),
        ("issue_comment", {"issue": {}, "comment": comment()}),
        ("issue_comment", {"comment": comment()}),
        ("pull_request_review", {"pull_request": pull(1), "review": []}),
        ("pull_request_review", {"review": review()}),
        ("pull_request_review_comment", {"pull_request": pull(1), "comment": "x"}),
        ("commit_comment", {"comment": {"id": 5}}),
    ],
)
def test_odd_payloads_are_passed_over(platform: Platform, name: str, payload: Any) -> None:
    platform.report("issues", "opened", issue=issue())
    for action in ("created", "deleted", "pinned", "submitted", "dismissed"):
        platform.report(name, action, **payload)
    assert platform.timeline() == []


def test_comments_on_a_deleted_issue_are_ignored(platform: Platform) -> None:
    platform.report("issues", "deleted", issue=issue())
    platform.report("issue_comment", "created", issue=issue(), comment=comment())
    assert said(platform, "comment", 492700400) is None


# Mentions and references


@pytest.mark.parametrize(
    ("text", "logins"),
    [
        ("@amy and @Bob-2, @amy again", ("amy", "bob-2")),
        ("(@amy) *@bob*", ("amy", "bob")),
        ("mail me at a@amy.example, or /@amy, @@amy", ()),
        ("`@amy` and\n```\n@bob\n```\n@carl", ("carl",)),
        ("@team/core is a team", ()),
        ("@-amy @amy-", ()),
        ("", ()),
        (None, ()),
        ("@amy", ("amy",)),
    ],
)
def test_mentions_are_found(text: str | None, logins: tuple[str, ...]) -> None:
    assert references_of(text).logins == logins


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see #1, #22 and #1", ((None, None, 1), (None, None, 22))),
        ("fixes ada/engine#7.", (("ada", "engine", 7),)),
        ("&#39; a#1 ##2 #x #0x1 http://x/#5", ()),
        ("`#1` #2", ((None, None, 2),)),
        ("(#1)", ((None, None, 1),)),
        ("#1234567890", ()),
    ],
)
def test_references_are_found(text: str, found: Any) -> None:
    assert references_of(text).issues == found


def test_the_number_of_references_is_bounded() -> None:
    text = " ".join(f"@a{number} #{number}" for number in range(1, 200))
    found = references_of(text)
    assert len(found.logins) == len(found.issues) == MOST


@pytest.mark.parametrize(
    "text", ["`" * 65_536, "@" * 65_536, "#1" * 32_768, "a/" * 32_768, "~~~" * 9]
)
def test_texts_made_to_take_long_do_not(text: str) -> None:
    references_of(text)


def test_people_are_mentioned_once(platform: Platform) -> None:
    store = platform.world.store
    amy = store.write_sync(accounts.create, "amy")
    text = "@amy, @nobody: look"
    platform.report("issues", "opened", issue=issue(body=text))
    platform.report("issue_comment", "created", issue=issue(), comment=comment(body="And @Amy?"))
    edited = issue(body="@amy and @ada", updated_at="2026-11-20T11:00:00Z")
    platform.report("issues", "edited", issue=edited)
    ada = platform.world.user["id"]
    assert [(event["kind"], event["actor_id"]) for event in platform.events()] == [
        ("mentioned", amy["id"]),
        ("subscribed", amy["id"]),
        ("mentioned", ada),
        ("subscribed", ada),
    ]


def test_only_readers_of_a_repository_are_mentioned(platform: Platform) -> None:
    store, repo = platform.world.store, platform.world.repo
    store.write_sync(repositories.update, repo["id"], private=True, description=None)
    store.write_sync(accounts.create, "amy")
    bob = store.write_sync(accounts.create, "bob")
    store.write_sync(repositories.grant, repo["id"], bob["id"], "read")
    platform.report("issues", "opened", issue=issue(body="@amy @bob"))
    assert {event["actor_id"] for event in platform.events()} == {bob["id"]}


def test_other_issues_know_of_it_once(platform: Platform) -> None:
    platform.report("issues", "opened", issue=issue(1))
    platform.report("issues", "opened", issue=issue(3, body="As #1, #3 and ada/engine#1"))
    platform.report("issue_comment", "created", issue=issue(3), comment=comment(body="#1!"))
    platform.report("pull_request", "opened", pull_request=pull(2, body="Closes #1"))
    assert platform.timeline(1) == ["cross-referenced"] * 2
    store = platform.world.store
    rows = store.read_sync(issue_events.timeline, platform.issue(1)["id"], limit=9, offset=0)
    assert {row["subject_id"] for row in rows} == {
        platform.issue(3)["id"],
        platform.issue(2)["id"],
    }
    assert platform.timeline(3) == ["commented"]


def test_another_repository_is_left_alone(platform: Platform) -> None:
    other = platform.world.another_repo()
    elsewhere = Platform(
        World(platform.world.store, platform.world.clock, platform.world.user, other)
    )
    elsewhere.report("issues", "opened", issue=issue(1))
    platform.report("issues", "opened", issue=issue(2, body="See ada/other#1"))
    assert elsewhere.timeline(1) == []
