"""Payloads of platforms become state: trusted senders change it, and others do not."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from issue_world import SHA, WHEN, Platform, issue, later, pull
from required import required
from store_world import World

from store import Connection, Row
from store.accounts import accounts, placeholder_accounts
from store.clock import DAY, SECOND, iso
from store.delivery import sources
from store.issues import issues, labels, milestones, pulls
from store.projection import projection_table
from store.repositories import branch_protection, refs, repositories, repository_details, stars

BUG = {"id": 11, "name": "Bug", "color": "d73a4a", "default": True, "description": "Broken"}
PEAL = {
    "id": 21,
    "number": 3,
    "title": "v1.0",
    "description": "First",
    "state": "open",
    "creator": {"login": "ada"},
    "open_issues": 4,
    "closed_issues": 5,
    "due_on": "2026-12-24T08:00:00Z",
    "created_at": "2026-11-01T00:00:00Z",
    "updated_at": WHEN,
    "closed_at": None,
}


@pytest.fixture
def platform(world: World) -> Platform:
    return Platform(world)


@pytest.fixture
def signed(platform: Platform) -> Platform:
    """A platform that signs its events, as a source that may report any repository."""
    platform.source_id = platform.world.store.write_sync(sources.create, "forge", "secret")["id"]
    return platform


def repository(platform: Platform) -> Row:
    """All columns of the world's repository."""
    return platform.world.store.read_sync(_repository, platform.world.repo["id"])


def _repository(db: Connection, repo_id: int) -> Row:
    return required(db.one("SELECT * FROM repository WHERE id = :id", id=repo_id))


def account(platform: Platform, login: str) -> Row | None:
    return platform.world.store.read_sync(accounts.by_login, login)


# Labels.


def label(platform: Platform, name: str) -> Row | None:
    found = platform.world.store.read_sync(labels.by_name, platform.world.repo["id"], name)
    return found and {key: found[key] for key in ("name", "color", "description", "is_default")}


def test_a_label_is_made_changed_renamed_and_gone(platform: Platform) -> None:
    platform.report("label", "created", label=BUG)
    shown = {"name": "Bug", "color": "d73a4a", "description": "Broken", "is_default": 1}
    assert label(platform, "bug") == shown
    platform.report("label", "edited", label={"id": 11, "name": "bug", "color": "#FFFFFF"})
    assert label(platform, "BUG") == shown | {"name": "bug", "color": "ffffff"}
    platform.report("label", "edited", label={"id": 11, "name": "defect", "description": None})
    assert label(platform, "bug") is None
    assert label(platform, "defect") == {
        "name": "defect",
        "color": "ffffff",
        "description": None,
        "is_default": 1,
    }
    platform.report("issues", "labeled", issue=issue(labels=[{"id": 11, "name": "defect"}]))
    platform.report("label", "deleted", label={"id": 11, "name": "defect"})
    assert label(platform, "defect") is None


def test_a_repeated_deletion_of_a_label_does_not_delete_a_new_one(platform: Platform) -> None:
    platform.report("label", "created", label=BUG)
    platform.report("label", "deleted", label=BUG)
    again = {**BUG, "id": 12}
    platform.report("label", "created", label=again)
    # A second webhook of the platform reports the deletion later.
    platform.report("label", "deleted", label=BUG)
    assert label(platform, "bug") is not None
    platform.report("label", "deleted", label={**again, "id": None})
    assert label(platform, "bug") is None


def test_a_deleted_label_goes_under_its_former_name_too(platform: Platform) -> None:
    platform.report("label", "created", label=BUG)
    # The events about their new names were lost.
    platform.report("label", "created", label={"id": 12, "name": "defect"})
    platform.report("label", "deleted", label={**BUG, "name": "defect"})
    assert label(platform, "bug") is None
    assert label(platform, "defect") is not None
    platform.report("label", "deleted", label={"id": 12, "name": "fault"})
    assert label(platform, "defect") is None


def test_a_label_that_takes_the_name_of_another_one_is_one_label(platform: Platform) -> None:
    defect = {"id": 12, "name": "defect"}
    for number, on in ((1, [BUG]), (2, [BUG, defect]), (3, [defect])):
        platform.report("issues", "opened", issue=issue(number, labels=on))
    # The event about the deletion of the other one was lost.
    label = {"id": 11, "name": "Defect"}
    platform.report("label", "edited", label=label, changes={"name": {"from": "Bug"}})
    store, repo_id = platform.world.store, platform.world.repo["id"]
    (row,) = store.read_sync(labels.list_all, repo_id)
    assert (row["name"], row["foreign_id"]) == ("Defect", 11)
    ids = [platform.issue(number)["id"] for number in (1, 2, 3)]
    assert store.read_sync(labels.of_issues, ids) == {one: [row] for one in ids}


def test_a_late_name_of_a_label_takes_no_issue_from_another_one(platform: Platform) -> None:
    # Two labels changed their names with each other, and then an older payload comes.
    swapped = [{"id": 11, "name": "defect"}, {"id": 12, "name": "bug"}]
    platform.report("issues", "opened", issue=issue(labels=swapped))
    platform.report("issues", "opened", issue=issue(2, labels=[{"id": 11, "name": "bug"}]))
    former = {"name": {"from": "defect"}}
    platform.report("label", "edited", label={"id": 12, "name": "bug"}, changes=former)
    for one in swapped:
        platform.report("label", "edited", label=one)
    store, issue_id = platform.world.store, platform.issue()["id"]
    rows = store.read_sync(labels.of_issues, [issue_id])[issue_id]
    assert [(row["name"], row["foreign_id"]) for row in rows] == [("bug", 12), ("defect", 11)]


def test_a_label_is_not_brought_back_where_it_comes_off(platform: Platform) -> None:
    platform.report("issues", "labeled", issue=issue(labels=[BUG]), label=BUG)
    assert label(platform, "bug")
    platform.report("label", "deleted", label=BUG)
    platform.report("issues", "unlabeled", issue=issue(labels=[]), label=BUG)
    assert label(platform, "bug") is None


@pytest.mark.parametrize("odd", [{}, {"name": ""}, {"name": 7}, {"name": None, "color": "d73a4a"}])
def test_invalid_labels_are_passed_over(platform: Platform, odd: dict[str, Any]) -> None:
    platform.report("label", "created", label=odd)
    assert platform.world.store.read_sync(labels.list_all, platform.world.repo["id"]) == []


def test_a_label_with_a_wrong_color_has_the_default(platform: Platform) -> None:
    platform.report("label", "created", label={"name": "plain", "color": "red"})
    assert (label(platform, "plain") or {})["color"] == "ededed"


# Milestones.


def milestone(platform: Platform) -> Row | None:
    return platform.world.store.read_sync(milestones.get, platform.world.repo["id"], 3)


def test_a_milestone_is_projected(platform: Platform) -> None:
    platform.report("milestone", "created", milestone=PEAL)
    found = required(milestone(platform))
    ada = platform.world.user["id"]
    assert (found["title"], found["state"], found["creator_id"]) == ("v1.0", "open", ada)
    assert (found["open_issues"], found["closed_issues"]) == (4, 5)
    assert (found["updated_at"], found["closed_at"]) == (later(0), None)
    platform.report("milestone", "edited", milestone={"number": 3, "title": "v2.0"})
    assert milestone(platform) == found | {"title": "v2.0", "updated_at": platform.world.now}
    platform.report(
        "milestone", "closed", milestone=PEAL | {"state": "closed", "updated_at": "2026-11-01"}
    )
    assert (milestone(platform) or {})["state"] == "open"
    platform.report("milestone", "deleted", milestone=PEAL)
    assert milestone(platform) is None


def test_an_issue_is_due_for_a_milestone_until_it_is_not(platform: Platform) -> None:
    platform.report("issues", "milestoned", issue=issue(milestone=PEAL), milestone=PEAL)
    found = required(milestone(platform))
    assert platform.issue()["milestone_id"] == found["id"]
    platform.report("issue_comment", "created", issue={"number": 1})
    assert platform.issue()["milestone_id"] == found["id"]
    platform.report("issues", "demilestoned", issue=issue(milestone=None), milestone=PEAL)
    assert platform.issue()["milestone_id"] is None
    platform.report("milestone", "deleted", milestone=PEAL)
    platform.report("issues", "demilestoned", issue=issue(), milestone=PEAL)
    assert milestone(platform) is None


def test_milestones_without_a_reported_count_are_counted(platform: Platform) -> None:
    store, repo_id = platform.world.store, platform.world.repo["id"]
    for number, reported in ((1, {"number": 3}), (2, {"number": 3}), (3, PEAL | {"number": 4})):
        platform.report("issues", "opened", issue=issue(number, milestone=reported))
    platform.report("issues", "closed", issue={"number": 2, "state": "closed"})
    store.write_sync(milestones.recount, repo_id)
    found = (store.read_sync(milestones.get, repo_id, number) for number in (3, 4))
    counts = [(row["open_issues"], row["closed_issues"]) for row in found if row]
    assert counts == [(1, 1), (4, 5)]


# Issues.


def shown(platform: Platform, number: int = 1) -> tuple[list[str], list[int]]:
    """Names of the labels, and assignees, of an issue."""
    store, ids = platform.world.store, [platform.issue(number)["id"]]
    named = store.read_sync(labels.of_issues, ids).get(ids[0], [])
    return [row["name"] for row in named], store.read_sync(issues.assignees, ids).get(ids[0], [])


def test_an_issue_is_stored_with_all_its_parts(platform: Platform) -> None:
    people = [{"login": "ada"}, {"login": "robin"}]
    reported = issue(labels=[BUG, {"name": "Also"}], assignees=people, comments=2, title="No ring")
    platform.report("issues", "opened", issue=reported)
    row = platform.issue()
    octo, robin = (account(platform, login) for login in ("octo-cat", "robin"))
    assert octo is not None
    assert robin is not None
    assert (row["author_id"], row["author_association"]) == (octo["id"], "OWNER")
    assert (row["title"], row["state"], row["comments"]) == ("No ring", "open", 2)
    assert (row["foreign_id"], row["is_pull"], row["updated_at"]) == (444500001, 0, later(0))
    assert shown(platform) == (["Also", "Bug"], [platform.world.user["id"], robin["id"]])


def test_a_smaller_word_blanks_nothing(platform: Platform) -> None:
    reported = issue(labels=[BUG], assignees=[{"login": "ada"}], body="Text", milestone=PEAL)
    platform.report("issues", "opened", issue=reported)
    row, around = platform.issue(), shown(platform)
    platform.report("issue_comment", "created", issue={"number": 1, "title": "Other"})
    assert platform.issue() == row | {"title": "Other", "updated_at": platform.world.now}
    assert shown(platform) == around
    platform.report("issues", "edited", issue={"number": 1, "body": None, "labels": []})
    assert platform.issue()["body"] is None
    assert shown(platform) == ([], around[1])


def test_an_older_word_changes_nothing(platform: Platform) -> None:
    platform.report("issues", "closed", issue=issue(state="closed", labels=[BUG]))
    row = platform.issue()
    old = issue(updated_at="2026-11-20T09:59:59Z", title="Old", labels=[{"name": "old"}])
    platform.report("issues", "opened", issue=old)
    assert platform.issue() == row
    assert shown(platform)[0] == ["Bug"]
    assert label(platform, "old") is None


def test_a_closed_issue_has_its_closer(platform: Platform) -> None:
    platform.report("issues", "closed", issue=issue(state="closed", state_reason="completed"))
    robin = required(account(platform, "robin"))
    assert platform.issue()["closed_by_id"] == robin["id"]
    assert platform.issue()["state_reason"] == "completed"


@pytest.mark.parametrize(
    ("ahead", "state"), [("2026-11-22T07:00:00Z", "closed"), ("2027-01-01T00:00:00Z", "open")]
)
def test_a_time_more_than_a_day_ahead_makes_no_event_outdated(
    platform: Platform, ahead: str, state: str
) -> None:
    platform.report("issues", "closed", issue=issue(state="closed", updated_at=ahead))
    platform.report("issues", "reopened", issue=issue())
    assert platform.issue()["state"] == state
    platform.report("issues", "closed", issue=issue(state="closed", updated_at="2026-11-20"))
    assert platform.issue()["state"] == state


def test_a_time_that_was_far_ahead_makes_no_event_outdated_when_it_is_near(
    platform: Platform,
) -> None:
    clock = platform.world.clock
    ahead = iso(clock.now() + 3 * DAY)
    platform.report("issues", "closed", issue=issue(state="closed", updated_at=ahead))
    clock.advance(2.5 * DAY / SECOND)
    platform.report("issues", "reopened", issue=issue(updated_at=iso(clock.now())))
    assert platform.issue()["state"] == "open"


def test_after_a_time_far_ahead_an_older_event_is_still_outdated(platform: Platform) -> None:
    far, main = "2099-01-01T00:00:00Z", "refs/heads/main"
    for title, at in (("a", iso(later(60))), ("b", far), ("c", WHEN)):
        platform.report("issues", "edited", issue=issue(title=title, updated_at=at))
        where = {"full_name": "ada/engine", "pushed_at": at}
        platform.report("push", ref=main, after=title * 40, repository=where)
    assert (platform.issue()["title"], ref(platform, "main")) == ("b", "b" * 40)


def test_a_reopened_issue_has_no_closer(platform: Platform) -> None:
    platform.report("issues", "closed", issue=issue(state="closed"))
    late = {"updated_at": "2026-11-20T10:00:01Z"}
    platform.report("issues", "labeled", issue=issue(state="closed", **late))
    assert platform.issue()["closed_by_id"] is not None
    platform.report("issues", "reopened", issue=issue(**late))
    assert platform.issue()["closed_by_id"] is None


def test_another_state_ends_the_reason_and_the_time_that_the_payload_leaves_out(
    platform: Platform,
) -> None:
    """Forgejo and Gitea have no reasons."""

    def reported(action: str, seconds: int, **members: Any) -> Row:
        given = issue(**members, updated_at=iso(later(seconds)))
        if "closed_at" not in members:
            del given["closed_at"]
        platform.report("issues", action, issue=given)
        return platform.issue()

    closing = {"state": "closed", "closed_at": WHEN, "state_reason": "not_planned"}
    reported("closed", 0, **closing)
    found = reported("labeled", 1, state="closed")
    assert (found["state_reason"], found["closed_at"]) == ("not_planned", later(0))
    found = reported("reopened", 2)
    assert (found["state"], found["state_reason"], found["closed_at"]) == ("open", None, None)
    reported("edited", 3, state_reason="reopened")
    assert reported("labeled", 4)["state_reason"] == "reopened"
    assert reported("closed", 5, state="closed")["state_reason"] is None


def test_a_late_closing_names_the_closer(
    platform: Platform,
) -> None:
    closed = {"state": "closed", "closed_at": WHEN}
    platform.report("issues", "labeled", issue=issue(**closed, updated_at=iso(later(2))))
    platform.report("issues", "closed", issue=issue(**closed))
    assert platform.issue()["closed_by_id"] is not None
    again = {"state": "closed", "closed_at": iso(later(5)), "updated_at": iso(later(5))}
    platform.report("issues", "reopened", issue=issue(updated_at=iso(later(4))))
    platform.report("issues", "labeled", issue=issue(**again))
    platform.report("issues", "closed", issue=issue(**closed))
    assert platform.issue()["closed_by_id"] is None, "it is about an earlier closing"


def test_an_issue_that_is_open_again_when_its_closing_is_sent_has_no_closer(
    platform: Platform,
) -> None:
    platform.report("issues", "closed", issue=issue())
    assert (platform.issue()["state"], platform.issue()["closed_by_id"]) == ("open", None)


def test_an_issue_stays_closed_when_an_earlier_event_of_its_second_comes(
    platform: Platform,
) -> None:
    closed = {"state": "closed", "closed_at": WHEN}
    said = {"id": 5, "body": "Done.", "created_at": WHEN, "updated_at": WHEN}
    platform.report("issues", "closed", issue=issue(**closed))
    platform.report("issue_comment", "created", issue=issue(comments=1), comment=said)
    found = platform.issue()
    assert (found["state"], found["closed_at"], found["comments"]) == ("closed", later(0), 1)
    assert found["closed_by_id"] is not None
    platform.report("issues", "reopened", issue=issue(comments=1))
    assert platform.issue()["state"] == "open"
    merged = {**closed, "merged": True, "merged_at": WHEN}
    platform.report("pull_request", "closed", pull_request=pull(**merged))
    platform.report("pull_request", "labeled", pull_request=pull(merged_at=None), label=BUG)
    rows = platform.world.store.read_sync(pulls.of_issues, [platform.issue(2)["id"]])
    (row,) = rows.values()
    assert (platform.issue(2)["state"], row["merged_at"]) == ("closed", later(0))


def test_a_closed_pull_request_has_its_closer(platform: Platform) -> None:
    platform.report("pull_request", "closed", pull_request=pull(state="closed"))
    robin = required(account(platform, "robin"))
    assert platform.issue(2)["closed_by_id"] == robin["id"]
    assert platform.issue(2)["updated_at"] == later(0)


def test_one_that_is_deleted_stays_so(platform: Platform) -> None:
    platform.report("issues", "opened", issue=issue())
    platform.report("issues", "deleted", issue=issue())
    gone = platform.issue()
    assert gone["deleted_at"] == platform.world.now
    platform.world.clock.advance(5)
    platform.report("issues", "deleted", issue=issue())
    platform.report(
        "issues", "edited", issue=issue(title="Back", updated_at="2026-11-20T11:00:00Z")
    )
    assert platform.issue() == gone


@pytest.mark.parametrize(
    ("name", "number", "moved"),
    [
        ("ada/attic", 9, ("ada/attic", 9)),
        ("ada/attic", None, (None, None)),
        ("nowhere", 9, (None, None)),
        ("a/b/c", 9, (None, None)),
        ("//evil.example", 9, (None, None)),
    ],
)
def test_a_transferred_issue_keeps_its_new_place(
    platform: Platform, name: str, number: int | None, moved: tuple[Any, Any]
) -> None:
    changes = {"new_issue": {"number": number}, "new_repository": {"full_name": name}}
    platform.report("issues", "transferred", issue=issue(), changes=changes)
    row = platform.issue()
    assert (row["moved_to"], row["moved_number"]) == moved


def test_each_member_has_a_bound(platform: Platform) -> None:
    reported = issue(
        title="t" * 9_999,
        body="b" * 999_999,
        labels=[{"name": f"l{at}"} for at in range(500)],
        assignees=[{"login": f"p{at}"} for at in range(500)],
    )
    platform.report("issues", "opened", issue=reported)
    row = platform.issue()
    assert (len(row["title"]), len(row["body"])) == (1_024, issues.MOST_BODY)
    assert [len(each) for each in shown(platform)] == [100, 100]


# Pull requests.


def pulled(platform: Platform, number: int = 2) -> Row:
    issue_id = platform.issue(number)["id"]
    found: Row = platform.world.store.read_sync(pulls.of_issues, [issue_id])[issue_id]
    return found


def test_a_pull_request_is_an_issue_too(platform: Platform) -> None:
    platform.report("pull_request", "opened", number=2, pull_request=pull(labels=[BUG], draft=True))
    row, found = platform.issue(2), pulled(platform)
    assert (row["is_pull"], row["foreign_id"]) == (1, None)
    assert found["foreign_id"] == 444500002
    assert (found["head_ref"], found["head_sha"], found["head_repo"]) == (
        "changes",
        SHA,
        "ada/engine",
    )
    assert (found["base_ref"], found["base_sha"], found["draft"]) == ("main", "f" * 40, 1)
    assert shown(platform, 2)[0] == ["Bug"]
    store, repo = platform.world.store, platform.world.repo
    heads = store.read_sync(pulls.of_heads, repo, [SHA, "0" * 40])
    assert {sha: [one["number"] for one in found] for sha, found in heads.items()} == {SHA: [2]}


def test_a_pull_request_is_merged_and_its_fork_goes(platform: Platform) -> None:
    platform.report("pull_request", "opened", pull_request=pull())
    merged = {
        "state": "closed",
        "merged_at": "2026-11-20T10:00:05Z",
        "merged_by": {"login": "ada"},
        "merge_commit_sha": "c" * 40,
        "updated_at": "2026-11-20T10:00:05Z",
        "head": {"ref": "changes", "sha": SHA, "repo": None},
    }
    platform.report("pull_request", "closed", pull_request=pull(**merged))
    found = pulled(platform)
    assert (found["merged_at"], found["merged_by_id"]) == (later(5), platform.world.user["id"])
    assert (found["merge_commit_sha"], found["head_repo"]) == ("c" * 40, None)
    platform.report("pull_request", "synchronize", pull_request=pull(merged_at=None))
    assert pulled(platform) == found
    assert platform.world.store.read_sync(pulls.of_heads, platform.world.repo, [SHA]) == {}


def test_a_comment_that_overtakes_a_pull_request_keeps_back_none_of_its_parts(
    platform: Platform,
) -> None:
    def comment(seconds: int, **changed: Any) -> None:
        at = {"updated_at": f"2026-11-20T10:00:{seconds:02}Z"}
        on = issue(2, pull_request={"url": "https://forge.example"}, **at, **changed)
        platform.report("issue_comment", "created", issue=on)

    def change(action: str, seconds: int, **changed: Any) -> Row:
        at = {"updated_at": f"2026-11-20T10:00:{seconds:02}Z"}
        platform.report("pull_request", action, pull_request=pull(**at, **changed))
        return pulled(platform)

    comment(2)
    found = change("opened", 1)
    assert (found["head_ref"], found["head_sha"], found["base_ref"]) == ("changes", SHA, "main")
    comment(6)
    repo = {"full_name": "ada/engine"}
    found = change("synchronize", 5, head={"ref": "changes", "sha": "e" * 40, "repo": repo})
    assert found["head_sha"] == "e" * 40
    comment(9, state="closed", closed_at="2026-11-20T10:00:08Z", title="Spelling")
    closed = {"state": "closed", "closed_at": "2026-11-20T10:00:08Z"}
    closed |= {"merged": True, "merged_at": "2026-11-20T10:00:08Z", "merge_commit_sha": "c" * 40}
    found = change("closed", 8, **closed, head={"ref": "changes", "sha": "e" * 40, "repo": repo})
    assert (found["merged_at"], found["merge_commit_sha"]) == (later(8), "c" * 40)
    # An earlier payload of the pull request itself still changes nothing.
    assert change("edited", 4) == found
    assert platform.issue(2)["title"] == "Spelling"


def test_comments_on_a_pull_request_update_its_issue(platform: Platform) -> None:
    platform.report("pull_request", "opened", pull_request=pull())
    found = pulled(platform)
    reported = issue(2, pull_request={"url": "https://forge.example"}, comments=7)
    platform.report("issue_comment", "created", issue=reported)
    assert platform.issue(2)["comments"] == 7
    assert pulled(platform) == found


# Repositories.

REPORTED = {
    "id": 186853002,
    "name": "engine",
    "full_name": "ada/engine",
    "private": False,
    "owner": {"login": "ada", "type": "User"},
    "description": "It runs",
    "fork": True,
    "homepage": "https://engine.example",
    "language": "Ada",
    "topics": ["steam", 7, "brass"],
    "archived": True,
    "default_branch": "trunk",
    "stargazers_count": 3,
    "forks_count": 2,
    "size": 120,
    "created_at": 1557933565,
    "updated_at": WHEN,
    "pushed_at": 1557933657,
}
HAPPENED = {
    "stars": 3,
    "forks": 2,
    "size": 120,
    "language": "Ada",
    "pushed_at": 1557933657_000_000,
    "updated_at": later(0),
    "reported_at": later(0),
}


def test_unsigned_payloads_update_the_activity_of_a_repository(platform: Platform) -> None:
    before = repository(platform)
    platform.report("push", repository=REPORTED | {"private": True})
    assert repository(platform) == before | HAPPENED


def test_no_size_in_an_event_is_too_high_for_an_owner_s_total(platform: Platform) -> None:
    world = platform.world
    for each in (world.repo, world.another_repo()):
        platform.repo_id = each["id"]
        for size in (5, 2**63 - 1):
            platform.report("push", repository={"full_name": each["full_name"], "size": size})
    assert world.store.read_sync(repository_details.owned, world.user["id"])["size"] == 10


def test_signed_payloads_update_the_settings_of_a_repository(signed: Platform) -> None:
    before = repository(signed)
    signed.report("repository", "edited", repository=REPORTED)
    after = before | HAPPENED
    assert repository(signed) == after | {
        "foreign_id": 186853002,
        "description": "It runs",
        "homepage": "https://engine.example",
        "default_branch": "trunk",
        "topics": '["steam","brass"]',
        "fork": 1,
        "archived": 1,
        "created_at": 1557933565_000_000,
    }
    kept = repository(signed)
    signed.report("star", "created", repository={"full_name": "ada/engine", "stargazers_count": 9})
    assert repository(signed) == kept | {"stars": 9, "updated_at": signed.world.now}
    signed.report("push", repository=REPORTED | {"updated_at": "2026-11-19", "description": "Old"})
    assert repository(signed)["description"] == "It runs"


def test_a_late_push_does_not_bring_back_an_earlier_time(platform: Platform) -> None:
    now = platform.world.now // SECOND * SECOND

    def pushed_at(seconds: int) -> int:
        # The time of the repository stays, as it does with a push.
        at = iso(now + seconds * SECOND)
        platform.report("push", repository=REPORTED | {"pushed_at": at})
        return int((repository(platform)["pushed_at"] - now) // SECOND)

    assert [pushed_at(seconds) for seconds in (-9, -5, -7)] == [-9, -5, -5]
    # A time that is still to come is wrong.
    assert [pushed_at(seconds) for seconds in (3600, -4)] == [3600, -4]


def test_an_empty_url_of_a_repository_is_none(signed: Platform) -> None:
    signed.report("repository", "edited", repository=REPORTED | {"mirror_url": "https://forge"})
    signed.report("repository", "edited", repository=REPORTED | {"homepage": "", "mirror_url": ""})
    found = repository(signed)
    assert (found["homepage"], found["mirror_url"]) == (None, None)


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_label_and_a_milestone_that_were_deleted_do_not_come_back(
    platform: Platform, late: int
) -> None:
    """Their numbers are not used again, and a label has no time."""
    store, repo_id = platform.world.store, platform.world.repo["id"]
    on = issue(labels=[BUG], milestone=PEAL)
    events: list[tuple[str, str, dict[str, Any]]] = [
        ("label", "created", {"label": BUG}),
        ("milestone", "created", {"milestone": PEAL}),
        ("issues", "labeled", {"issue": on, "label": BUG}),
        ("label", "deleted", {"label": BUG}),
        ("milestone", "deleted", {"milestone": PEAL}),
    ]
    for name, action, payload in [*events, events[late]]:
        platform.report(name, action, **payload)
    assert store.read_sync(labels.by_name, repo_id, "bug") is None
    assert store.read_sync(milestones.get, repo_id, 3) is None
    # Another label has the same name.
    platform.report("label", "created", label=BUG | {"id": 12})
    platform.report("label", "created", label=BUG)
    row = required(store.read_sync(labels.by_name, repo_id, "bug"))
    assert row["foreign_id"] == 12
    # An operator's state document is later than each deletion.
    state = store.write_sync(projection_table.projected_events)
    assert (
        store.write_sync(labels.put, platform.world.repo, BUG | {"name": "Other"}, state)
        is not None
    )
    # It has no ids, so the label gets its own by the next event.
    again = {"name": "Again"}
    assert store.write_sync(labels.put, platform.world.repo, again, state) is not None
    platform.report("label", "deleted", label=BUG | {"id": 13})
    platform.report("label", "edited", label=BUG | {"id": 13} | again)
    row = required(store.read_sync(labels.by_name, repo_id, "again"))
    assert row["foreign_id"] == 13
    assert store.write_sync(milestones.put, platform.world.repo, PEAL, state) is not None


@pytest.mark.parametrize("first", ["created", "deleted"])
def test_a_late_star_event_changes_nothing(signed: Platform, first: str) -> None:
    """Two webhooks of a platform may report the same star."""
    times = ("2026-11-20T10:00:00Z", "2026-11-20T10:00:05Z", "2026-11-20T10:00:05Z")
    actions = ("created", "deleted", "created") if first == "deleted" else ("created", "deleted")

    def report(action: str, time: str) -> int:
        about = {"full_name": "ada/engine", "updated_at": time}
        signed.report("star", action, repository=about)
        return signed.world.store.read_sync(stars.count, signed.world.repo["id"])

    counts = [report(*each) for each in zip(actions, times, strict=False)]
    assert counts == [1, 0, 1][: len(actions)]
    assert report(first, "2026-11-20T10:00:01Z") == counts[-1]


def test_a_star_without_the_platforms_time_is_taken(platform: Platform) -> None:
    """An unsigned time may be invented."""
    far = {"full_name": "ada/engine", "updated_at": "2026-11-20T23:00:00Z"}
    platform.report("star", "created", repository=far)
    for action, wanted in (("deleted", 0), ("created", 1)):
        platform.report("star", action, repository={"full_name": "ada/engine"})
        assert platform.world.store.read_sync(stars.count, platform.world.repo["id"]) == wanted


def test_late_events_of_a_protection_rule_change_nothing(signed: Platform) -> None:
    def report(action: str, seconds: int, number: int, name: str, before: str = "") -> list[str]:
        rule = {"id": number, "name": name, "updated_at": f"2026-11-20T10:00:{seconds:02}Z"}
        changes = {"changes": {"name": {"from": before}}} if before else {}
        signed.report("branch_protection_rule", action, rule=rule, **changes)
        found = signed.world.store.read_sync(branch_protection.patterns, signed.world.repo["id"])
        return [one.text for one in found]

    report("created", 1, 7, "main")
    report("deleted", 1, 7, "main")
    assert report("created", 3, 8, "main") == ["main"]
    assert report("deleted", 1, 7, "main") == ["main"]
    assert report("edited", 4, 8, "trunk", "main") == ["trunk"]
    assert report("created", 5, 9, "main") == ["main", "trunk"]
    # The rule has another pattern since, and another rule has its first one.
    assert report("created", 3, 8, "main") == ["main", "trunk"]
    assert report("edited", 4, 8, "trunk", "main") == ["main", "trunk"]
    for action in ("deleted", "created", "edited"):
        assert report(action, 4, 8, "trunk") == ["main"]
    # The next events of a rule overtake the one that renames it.
    assert report("edited", 7, 9, "b") == ["b"]
    assert report("edited", 6, 9, "a", "main") == ["b"]
    assert report("deleted", 8, 9, "c") == []
    assert report("edited", 8, 9, "c", "b") == []


def test_only_publicizing_makes_a_private_repository_public(signed: Platform) -> None:
    def private() -> int:
        return int(repository(signed)["private"])

    signed.report("push", repository={"private": True})
    assert private() == 1
    signed.report("push", repository={"private": False})
    signed.report("repository", "edited", repository={"private": False})
    assert private() == 1
    signed.report("repository", "publicized", repository={"private": False})
    assert private() == 0
    signed.report("repository", "privatized", repository={"private": True})
    signed.source_id = 0
    for name, action in (("public", None), ("repository", "publicized")):
        signed.report(name, action, repository={"private": False})
    assert private() == 1


@pytest.mark.parametrize("described", [False, True])
def test_the_time_of_an_unsigned_event_makes_no_signed_event_outdated(
    signed: Platform, described: bool
) -> None:
    source_id = signed.source_id
    if described:
        signed.report("push", repository=REPORTED | {"updated_at": "2026-11-19T00:00:00Z"})
    signed.source_id = 0
    for at in ("2026-11-21T07:33:00Z", "9000-01-01T00:00:00Z"):
        signed.report("push", repository=REPORTED | {"updated_at": at})
    signed.source_id = source_id
    signed.report("repository", "privatized", repository=REPORTED | {"private": True})
    found = repository(signed)
    assert (found["private"], found["reported_at"]) == (1, later(0))


def named(platform: Platform, name: str) -> Row | None:
    owner, _, repo = name.partition("/")
    return platform.world.store.read_sync(repositories.find, owner, repo)


def test_the_time_of_an_unsigned_push_makes_no_signed_push_late(signed: Platform) -> None:
    source_id, signed.source_id = signed.source_id, 0
    for sha, ahead in (("b" * 40, DAY // SECOND - 60), ("c" * 40, 60)):
        at = iso(signed.world.now + ahead * SECOND)
        where = {"full_name": "ada/engine", "pushed_at": at}
        signed.report("push", repository=where, ref="refs/heads/main", after=sha)
        signed.source_id = source_id
    found = signed.world.store.read_sync(refs.get, signed.world.repo["id"], "refs/heads/main")
    assert required(found)["sha"] == "c" * 40


def test_a_platform_makes_its_repositories_known(signed: Platform) -> None:
    signed.repo_id = 0
    owner = {"login": "Tower", "type": "Organization", "id": 5}
    reported = REPORTED | {
        "full_name": "Tower/Bells",
        "name": "Bells",
        "owner": owner,
        "private": True,
    }
    signed.report(
        "issues", "opened", repository=reported, issue=issue(), organization={"login": "tower"}
    )
    made, tower = named(signed, "tower/bells"), account(signed, "tower")
    assert made is not None
    assert tower is not None
    assert (tower["kind"], tower["heard_of"], made["owner_id"]) == ("Organization", 1, tower["id"])
    assert (made["private"], made["description"]) == (1, "It runs")
    assert signed.world.store.read_sync(issues.get, made["id"], 1) is not None
    signed.report("issues", "opened", repository=reported, issue=issue(2))
    assert signed.world.store.read_sync(issues.get, made["id"], 2) is not None


@pytest.mark.parametrize(
    "reported",
    [
        {},
        {"repository": None},
        {"repository": {"full_name": 7}},
        {"repository": {"full_name": "bells"}},
        {"repository": {"full_name": "tower/be/lls"}},
        {"repository": {"full_name": "tower/"}},
        {"repository": {"full_name": "/bells"}},
        {"repository": {"full_name": "tow er/bells"}},
        {"repository": {"full_name": "tower/be\0lls"}},
    ],
)
def test_payloads_without_a_valid_repository_make_none(
    signed: Platform, reported: dict[str, Any]
) -> None:
    signed.repo_id = 0
    signed.report("issues", "opened", issue=issue(), **reported)
    assert len(signed.world.store.read_sync(repositories.list_all)) == 1


def test_a_new_repository_is_private_by_default(signed: Platform) -> None:
    signed.repo_id = 0
    signed.report("push", repository={"full_name": "ada/attic"})
    assert (named(signed, "ada/attic") or {})["private"] == 1


def test_only_a_trusted_source_makes_a_repository(signed: Platform) -> None:
    world, reported = signed.world, REPORTED | {"full_name": "eve/attic", "owner": {"login": "eve"}}
    signed.repo_id = 0
    signed.report("ping", repository=reported)
    own = world.store.write_sync(sources.create, "own", "secret", owner_id=world.user["id"])
    for source_id in (0, own["id"], 999):
        signed.source_id = source_id
        signed.report("push", repository=reported)
    assert named(signed, "eve/attic") is None
    assert account(signed, "eve") is None
    signed.source_id = own["id"]
    signed.report("push", repository=REPORTED | {"full_name": "ada/attic"})
    assert named(signed, "ada/attic") is not None


def test_a_new_name_is_followed(signed: Platform) -> None:
    signed.report("push", repository=REPORTED)
    signed.repo_id = 0
    changes = {"repository": {"name": {"from": "engine"}}}
    new = REPORTED | {
        "name": "motor",
        "full_name": "ada/motor",
        "updated_at": "2026-11-21T00:00:00Z",
    }
    signed.report("repository", "renamed", repository=new | {"id": 1}, changes=changes)
    assert (named(signed, "ada/engine") or {})["id"] == signed.world.repo["id"]
    other = required(named(signed, "ada/motor"))
    assert other["id"] != signed.world.repo["id"]
    new |= {"name": "turbine", "full_name": "ada/turbine"}
    signed.report("repository", "renamed", repository=new, changes=changes)
    assert (named(signed, "ada/turbine") or {})["id"] == signed.world.repo["id"]


def name_now(platform: Platform) -> str:
    name: str = repository(platform)["name"]
    return name


def renaming(platform: Platform, before: str, after: str, **changed: Any) -> None:
    """Report that the repository has another name."""
    changes = {"repository": {"name": {"from": before}}}
    given = REPORTED | {"full_name": f"ada/{after}"} | changed
    platform.report("repository", "renamed", repository=given, changes=changes)


def test_a_new_name_is_followed_in_an_event_of_the_known_repository(signed: Platform) -> None:
    signed.report("push", repository=REPORTED)
    renaming(signed, "engine", "motor")
    assert name_now(signed) == "motor"
    for changed in ({"id": 1}, {"full_name": "eve/drive"}, {"full_name": "ada/no name"}):
        renaming(signed, "motor", "drive", **changed)
        assert name_now(signed) == "motor"
    signed.source_id = 0
    renaming(signed, "motor", "drive")
    assert name_now(signed) == "motor", "a source did not sign it"


def test_a_new_repository_with_the_name_of_a_renamed_one_is_another(signed: Platform) -> None:
    """When its event was accepted, the event of the renaming was still to become state."""
    signed.report("push", repository=REPORTED)
    renaming(signed, "engine", "motor")
    before = repository(signed)
    new = REPORTED | {"id": 7, "created_at": WHEN, "description": "The next one"}
    signed.report("issues", "opened", repository=new, issue=issue())
    assert repository(signed) == before
    made = required(named(signed, "ada/engine"))
    assert (made["foreign_id"], made["description"]) == (7, "The next one")
    assert signed.world.store.read_sync(issues.get, made["id"], 1) is not None
    # Without a renaming, the platform made the repository of this name anew.
    anew = REPORTED | {"id": 8, "full_name": "ada/motor", "updated_at": "2026-11-21T00:00:00Z"}
    signed.report("repository", "created", repository=anew)
    assert repository(signed)["foreign_id"] == 8


def test_a_renaming_to_a_name_whose_renaming_comes_later_mixes_up_nothing(
    signed: Platform,
) -> None:
    other, signed.repo_id = signed.world.another_repo(), 0
    of_other = {"id": 7, "full_name": "ada/other", "created_at": WHEN}
    signed.report("push", repository=REPORTED)
    signed.report("push", repository=of_other)
    renaming(signed, "engine", "other")
    taken = REPORTED | {"full_name": "ada/other"}
    signed.report("issues", "opened", repository=taken, issue=issue())
    assert signed.issue()["title"] == "Spelling error"
    renaming(signed, "other", "last", **of_other | {"full_name": "ada/last"})
    signed.report("push", repository=taken)
    assert (repository(signed)["foreign_id"], name_now(signed)) == (REPORTED["id"], "other")
    assert required(named(signed, "ada/last"))["id"] == other["id"]


def test_an_event_goes_to_the_repository_that_has_become_known_since_the_reception(
    signed: Platform,
) -> None:
    """At the reception, only one of both was known here. The other one then took its name."""
    other, signed.repo_id = signed.world.another_repo(), 0
    of_other = {"id": 7, "full_name": "ada/other", "created_at": WHEN}
    signed.report("push", repository=REPORTED)
    signed.report("push", repository=of_other)
    signed.repo_id = signed.world.repo["id"]
    taken = of_other | {"full_name": "ada/engine"}
    signed.report("issues", "opened", repository=taken, issue=issue())
    assert repository(signed)["foreign_id"] == REPORTED["id"]
    assert signed.world.store.read_sync(issues.get, signed.world.repo["id"], 1) is None
    assert signed.world.store.read_sync(issues.get, other["id"], 1) is not None


@pytest.mark.parametrize("repo_id", [0, 1])
def test_late_events_bring_back_no_former_name(signed: Platform, repo_id: int) -> None:
    signed.report("push", repository=REPORTED)
    signed.repo_id = repo_id and signed.world.repo["id"]
    # The second renaming is reported before the first one.
    renaming(signed, "motor", "turbine")
    assert name_now(signed) == "turbine"
    renaming(signed, "engine", "motor")
    signed.report("push", repository=REPORTED)
    assert name_now(signed) == "turbine"
    assert named(signed, "ada/engine") is None
    renaming(signed, "turbine", "engine")
    assert name_now(signed) == "engine", "an event may bring it back"


def test_a_renaming_that_comes_again_after_the_next_ones_changes_nothing(
    signed: Platform,
) -> None:
    """A platform sends an event again when somebody asks for that, perhaps days later."""
    at = [iso(later(100_000 + number)) for number in range(4)]
    signed.report("push", repository=REPORTED)
    renaming(signed, "engine", "motor", updated_at=at[0])
    renaming(signed, "motor", "engine", updated_at=at[2])
    renaming(signed, "engine", "motor", updated_at=at[0])
    assert name_now(signed) == "engine"
    signed.report("push", repository=REPORTED | {"full_name": "ada/motor", "updated_at": at[1]})
    assert name_now(signed) == "engine"
    signed.report("push", repository=REPORTED | {"full_name": "ada/motor", "updated_at": at[3]})
    assert name_now(signed) == "motor", "the event of the last renaming is lost"


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({}, "motor"),
        ({"created_at": "2019-05-15T15:19:25Z"}, "motor"),
        ({"created_at": None}, "engine"),
        ({"created_at": 1557933566}, "engine"),
        ({"id": 1}, "engine"),
    ],
)
def test_id_and_time_of_creation_prove_a_new_name(
    signed: Platform, changed: dict[str, Any], name: str
) -> None:
    """Not every platform has an event about a renaming."""
    signed.report("push", repository=REPORTED)
    signed.repo_id = 0
    signed.report("push", repository=REPORTED | {"full_name": "ada/motor"} | changed)
    assert name_now(signed) == name


def test_a_transfer_makes_another_repository(signed: Platform) -> None:
    signed.report("push", repository=REPORTED)
    signed.repo_id = 0
    owner = {"login": "tower", "type": "Organization"}
    moved = REPORTED | {"full_name": "tower/engine", "owner": owner}
    changes = {"owner": {"from": {"user": {"login": "ada"}}}}
    signed.report("repository", "transferred", repository=moved, changes=changes)
    assert repository(signed)["owner_id"] == signed.world.user["id"]
    assert (named(signed, "tower/engine") or {})["id"] != signed.world.repo["id"]


@pytest.mark.parametrize("known", [{}, {"id": 186853002}])
def test_no_repository_is_made_with_a_former_name(signed: Platform, known: dict[str, int]) -> None:
    signed.report("push", repository=REPORTED)
    signed.world.store.write_sync(repositories.rename, signed.world.repo, "motor")
    signed.repo_id = 0
    signed.report("push", repository={"full_name": "ada/engine", "private": True, **known})
    assert named(signed, "ada/engine") is None
    assert repository(signed)["private"] == 1, "the event is its own"
    signed.report("push", repository={"full_name": "ada/engine", "id": 5})
    assert (named(signed, "ada/engine") or {})["id"] != signed.world.repo["id"]


# Branches and tags.


def ref(platform: Platform, name: str) -> str | None:
    return platform.world.store.read_sync(refs.resolve, platform.world.repo["id"], name)


def test_branches_and_tags_follow_pushes(platform: Platform) -> None:
    platform.report("push", ref="refs/heads/main", after="a" * 40)
    platform.report("push", ref="refs/tags/v1", after="b" * 40)
    assert [ref(platform, name) for name in ("main", "heads/main", "refs/heads/main", "v1")] == [
        "a" * 40,
        "a" * 40,
        "a" * 40,
        "b" * 40,
    ]
    assert ref(platform, "c" * 40) == "c" * 40
    platform.report("push", ref="refs/heads/main", after="0" * 40)
    assert ref(platform, "main") is None
    platform.report("delete", ref="v1", ref_type="tag")
    assert ref(platform, "v1") is None


def test_an_older_push_does_not_move_a_branch_back(platform: Platform) -> None:
    def push(sha: str, pushed_at: Any) -> str | None:
        at = {"full_name": "ada/engine", "pushed_at": pushed_at}
        platform.report("push", ref="refs/heads/main", after=sha * 40, repository=at)
        return ref(platform, "main")

    second = later(0) // 1_000_000
    assert push("b", second + 1) == "b" * 40
    assert push("a", second) == push("0", second) == "b" * 40
    # The second of a push, and a push without a time.
    assert push("c", second + 1) == "c" * 40
    assert push("d", None) == "d" * 40
    assert push("0", second + 2) is None


@pytest.mark.parametrize("deleted", ["delete", "push"])
def test_a_late_push_does_not_bring_a_deleted_branch_back(platform: Platform, deleted: str) -> None:
    main = {"ref": "main", "ref_type": "branch"}
    push = {"ref": "refs/heads/main", "after": "0" * 40}

    def report(seconds: int, sha: str | None) -> str | None:
        at = {"full_name": "ada/engine", "pushed_at": iso(later(seconds))}
        if sha is None:
            platform.report(deleted, **(main if deleted == "delete" else push), repository=at)
        else:
            platform.report("push", **{**push, "after": sha * 40}, repository=at)
        return ref(platform, "main")

    assert report(2, None) is None
    assert report(1, "a") is None
    assert report(4, "b") == "b" * 40
    # The deletion before that push comes late, too.
    assert report(3, None) == "b" * 40
    assert report(4, None) is None


def test_the_times_of_branches_that_stay_gone_are_deleted(platform: Platform) -> None:
    def report(name: str, sha: str, seconds: int) -> None:
        at = {"full_name": "ada/engine", "pushed_at": iso(later(seconds))}
        platform.report("push", ref=f"refs/heads/{name}", after=sha * 40, repository=at)

    def reported() -> set[str]:
        rows = platform.world.store.read_sync(lambda db: db.tuples("SELECT name FROM ref_report"))
        return {name.removeprefix("refs/heads/") for (name,) in rows}

    for name in ("stays", "back", "gone", "too"):
        report(name, "a", 1)
    for name in ("back", "gone", "too"):
        report(name, "0", 2)
    report("never", "0", 2)
    report("back", "b", 3)
    now = platform.world.now
    dropped = [
        platform.world.store.write_sync(refs.drop_reports, at, 2) for at in (now, *[now + 1] * 2)
    ]
    assert dropped == [0, 2, 1]
    assert reported() == {"stays", "back"}


def test_the_times_of_branches_that_an_import_has_not_are_deleted(platform: Platform) -> None:
    at = {"full_name": "ada/engine", "pushed_at": iso(later(1))}
    for name in ("main", "old"):
        platform.report("push", ref=f"refs/heads/{name}", after="a" * 40, repository=at)
    store, repo_id = platform.world.store, platform.world.repo["id"]
    store.write_sync(refs.replace, repo_id, {"refs/heads/main": "b" * 40})
    assert store.write_sync(refs.drop_reports, platform.world.now + 1, 5) == 1
    rows = store.read_sync(lambda db: db.tuples("SELECT name FROM ref_report"))
    assert rows == [("refs/heads/main",)]


@pytest.mark.parametrize(
    "reported",
    [
        {"ref": "main", "after": "a" * 40},
        {"ref": "refs/heads/main", "after": "a" * 39},
        {"ref": "refs/heads/main", "after": None},
        {"ref": ["refs/heads/main"], "after": "a" * 40},
        {"ref": "refs/pull/1/head", "after": "a" * 40},
    ],
)
def test_invalid_pushes_are_passed_over(platform: Platform, reported: dict[str, Any]) -> None:
    platform.report("push", **reported)
    assert platform.world.store.read_sync(refs.list_all, platform.world.repo["id"]) == []


# People.


def test_an_account_from_a_payload_has_no_rights(platform: Platform) -> None:
    given = {"login": "Mallory[bot]", "id": 7, "type": "Bot", "site_admin": True, "name": "M"}
    platform.report("push", sender=given, pusher={"login": "nobody"})
    row = required(account(platform, "mallory[BOT]"))
    assert (row["kind"], row["site_admin"], row["heard_of"], row["name"]) == ("Bot", 0, 1, "M")
    look = platform.world.store.read_sync
    assert not look(accounts.check_password, row["id"], "")
    assert look(repositories.role_of, platform.world.repo, row) == "read"
    assert account(platform, "nobody") is None


def test_a_created_account_is_not_changed_by_payloads(platform: Platform) -> None:
    before = account(platform, "ada")
    reported = {
        "login": "ADA",
        "id": 99,
        "type": "Organization",
        "name": "Mallory",
        "site_admin": True,
    }
    platform.report("push", sender=reported, organization=reported)
    assert account(platform, "ada") == before


def test_a_payload_adds_a_missing_name_to_an_account(platform: Platform) -> None:
    platform.report("push", sender={"login": "robin"})
    platform.report("push", sender={"login": "robin", "name": "Robin"})
    platform.report("push", sender={"login": "robin", "name": "Mallory"})
    assert (account(platform, "robin") or {})["name"] == "Robin"


def test_rights_come_from_no_event(signed: Platform) -> None:
    member = {"login": "robin", "type": "User"}
    signed.report("member", "added", member=member, repository=REPORTED)
    signed.report("membership", "added", member=member, organization={"login": "tower"})
    signed.report("organization", "member_added", membership={"user": member, "role": "admin"})
    robin = required(account(signed, "robin"))
    private = signed.world.another_repo(private=True)
    assert signed.world.store.read_sync(repositories.role_of, private, robin) is None
    assert signed.world.store.read_sync(repositories.role_of, signed.world.repo, robin) == "read"


@pytest.mark.parametrize(
    "odd", [None, 7, [], {}, {"login": ""}, {"login": "a b"}, {"login": "x" * 101}, {"login": None}]
)
def test_invalid_users_are_passed_over(platform: Platform, odd: Any) -> None:
    assert platform.world.store.write_sync(placeholder_accounts.get_or_create, odd) is None


def test_creating_an_account_takes_over_its_reported_row(platform: Platform) -> None:
    platform.report("issues", "opened", issue=issue(), sender={"login": "Robin", "id": 5})
    heard = required(account(platform, "robin"))
    made = platform.world.store.write_sync(accounts.create, "robin", kind="Organization", name="R")
    assert (made["id"], made["login"], made["heard_of"]) == (heard["id"], "robin", 0)
    assert (made["kind"], made["name"]) == ("Organization", "R")


# Any payload.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just(WHEN) | st.just(SHA),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "number", "login", "name", "full_name", "title", "user", "labels"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
MEMBERS = sorted({*projection_table.MEMBERS, "sender", "organization", "changes", "comment", "ref"})


@given(
    st.sampled_from(sorted(projection_table.EVENTS)),
    st.sampled_from([None, "created", "deleted", "closed", "transferred", "renamed"]),
    st.dictionaries(st.sampled_from(MEMBERS), JSON, max_size=5),
)
@settings(
    max_examples=150,
    deadline=None,
)
def test_no_payload_raises_an_error(
    signed: Platform, name: str, action: str | None, payload: dict[str, Any]
) -> None:
    signed.report(name, action, **payload)
