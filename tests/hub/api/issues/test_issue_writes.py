"""Writes of comments, issues, labels, and assignees through the API."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies
from bearer import Headers, by
from issue_world import Platform, issue, pull
from store_world import World

from store import Connection, Row, Store
from store.accounts import accounts
from store.clock import DAY, SECOND, MovableClock, iso
from store.issues import comment_changes, issue_changes, issue_comments
from store.repositories import interaction_limits, repositories

HELLO = "/repos/octo/hello"
ISSUES = f"{HELLO}/issues"
ONE = f"{ISSUES}/1"
COMMENTS = f"{ONE}/comments"


@pytest.fixture
def platform(store: Store, clock: MovableClock, seed: Any) -> Platform:
    """A platform that has reported issue 1 and pull request 2 of octo/hello."""
    row = store.read_sync(repositories.get, seed.hello["id"])
    assert row is not None
    found = Platform(World(store, clock, {}, row))
    found.report("issues", "opened", issue=issue(1))
    found.report("pull_request", "opened", pull_request=pull(2))
    return found


@pytest.fixture
def helper(store: Store, seed: Any) -> Headers:
    """Headers with a token of the user helper, who has the role `triage` in octo/hello."""
    account = store.write_sync(accounts.create, "helper")
    store.write_sync(repositories.grant, seed.hello["id"], account["id"], "triage")
    return by(store, account, scopes=["repo"])


async def kinds(client: httpx.AsyncClient, number: int = 1) -> list[str]:
    """The kinds of the events in the timeline of an issue."""
    answer = await client.get(f"{ISSUES}/{number}/timeline?per_page=100")
    return [one["event"] for one in answer.json()]


def now(clock: MovableClock, seconds: int = 0) -> str:
    """The time `seconds` from now, as a platform reports it."""
    return iso(clock.now() + seconds * SECOND)


async def done(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


# Comments


async def test_a_comment_is_created(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    made = await done(await client.post(COMMENTS, json={"body": "Hm, @reader"}), 201)
    number = made["id"]
    assert made["url"] == f"{BASE}{ISSUES}/comments/{number}"
    assert (made["user"]["login"], made["author_association"]) == ("octo", "OWNER")
    assert await done(await client.get(f"{ISSUES}/comments/{number}")) == made
    assert await done(await client.get(COMMENTS)) == [made]
    assert (await client.get(ONE)).json()["comments"] == 1
    assert await kinds(client) == ["commented", "mentioned", "subscribed"]
    (payload,) = bodies(store, "issue_comment")
    assert payload["comment"] == made
    assert made["reactions"].items() >= {"url": f"{made['url']}/reactions", "+1": 0}.items()
    counted = payload["issue"]["reactions"]
    assert counted == made["reactions"] | {"url": f"{BASE}{ONE}/reactions"}
    assert (payload["issue"]["number"], payload["issue"]["comments"]) == (1, 1)
    assert (payload["action"], payload["sender"]["login"]) == ("created", "octo")

    at = f"{ISSUES}/comments/{number}"
    changed = await done(await client.patch(at, json={"body": "Aha"}))
    assert changed["body"] == "Aha"
    assert bodies(store, "issue_comment")[1]["changes"] == {"body": {"from": "Hm, @reader"}}
    assert (await client.delete(at)).status_code == 204
    assert_error(await client.get(at), 404)
    assert (await client.get(ONE)).json()["comments"] == 0
    assert "commented" not in await kinds(client)
    assert bodies(store, "issue_comment")[2]["comment"]["body"] == "Aha"


async def test_an_event_of_a_comment_links_to_its_pull_request(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    await done(await client.post(f"{ISSUES}/2/comments", json={"body": "Hm"}), 201)
    (payload,) = bodies(store, "issue_comment")
    assert payload["issue"]["pull_request"]["url"] == f"{BASE}{HELLO}/pulls/2"


async def test_a_platform_and_the_api_change_the_same_comment(
    client: httpx.AsyncClient, platform: Platform
) -> None:
    said = {"id": 99, "body": "one", "user": {"login": "robin"}}
    platform.report("issue_comment", "created", issue=issue(), comment=said)
    await done(await client.patch(f"{ISSUES}/comments/99", json={"body": "two"}))
    platform.report("issue_comment", "edited", issue=issue(), comment=said | {"body": "three"})
    assert [one["body"] for one in (await client.get(COMMENTS)).json()] == ["three"]
    made = await done(await client.post(COMMENTS, json={"body": "mine"}), 201)
    theirs = {"id": made["id"], "body": "changed elsewhere"}
    platform.report("issue_comment", "edited", issue=issue(), comment=theirs)
    found = (await client.get(f"{ISSUES}/comments/{made['id']}")).json()
    assert (found["body"], found["user"]["login"]) == ("changed elsewhere", "octo")


async def test_comments_are_changed_by_authors_and_deleted_by_owners(
    client: httpx.AsyncClient, platform: Platform, reader: Headers, helper: Headers
) -> None:
    made = await done(await client.post(COMMENTS, json={"body": "Hm"}, headers=reader), 201)
    assert made["author_association"] == "NONE"
    at = f"{ISSUES}/comments/{made['id']}"
    await done(await client.patch(at, json={"body": "Mine"}, headers=reader))
    assert_error(await client.patch(at, json={"body": "No"}, headers=helper), 403)
    assert_error(await client.delete(at, headers=helper), 403)
    assert (await client.delete(at)).status_code == 204


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_a_comment_that_another_hub_deletes_meanwhile_is_missing(
    client: httpx.AsyncClient,
    platform: Platform,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
) -> None:
    """The other hub has deleted it when the issue is locked."""
    made = await done(await client.post(COMMENTS, json={"body": "one"}), 201)
    lock = issue_changes.lock

    def locked(db: Connection, row: Row) -> Row:
        found = lock(db, row)
        comment_changes.delete(db, found, issue_comments.of(db, [made["id"]])[made["id"]])
        return found

    monkeypatch.setattr(issue_changes, "lock", locked)
    body = {"body": "two"} if method == "PATCH" else None
    answer = await client.request(method, f"{ISSUES}/comments/{made['id']}", json=body)
    assert_error(answer, 404)
    assert [one["action"] for one in bodies(store, "issue_comment")] == ["created"]


async def test_an_issue_whose_repository_is_removed_meanwhile_is_missing(
    client: httpx.AsyncClient, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repository has been removed when the issue is locked."""
    lock = issue_changes.lock
    monkeypatch.setattr(issue_changes, "lock", lambda db, row: lock(db, {**row, "id": 0}))
    assert_error(await client.patch(ONE, json={"title": "No"}), 404)
    assert_error(await client.post(COMMENTS, json={"body": "No"}), 404)


@pytest.mark.parametrize("body", [{"body": " \n"}, {"body": "a\0b"}, {"body": None}])
async def test_a_wrong_text_is_refused(
    client: httpx.AsyncClient, platform: Platform, body: dict[str, str | None]
) -> None:
    assert_error(await client.post(COMMENTS, json=body), 422)


async def test_comments_on_a_locked_issue_need_write_access(
    client: httpx.AsyncClient, platform: Platform, reader: Headers
) -> None:
    platform.report("issues", "locked", issue=issue(1, locked=True))
    answer = await client.post(COMMENTS, json={"body": "Hm"}, headers=reader)
    assert_error(answer, 403, "Unable to create comment because issue is locked.")
    await done(await client.post(COMMENTS, json={"body": "Hm"}), 201)


async def test_writes_to_an_archived_repository_are_refused(
    client: httpx.AsyncClient, platform: Platform, store: Store, seed: Any
) -> None:
    sql = "UPDATE repository SET archived = 1 WHERE id = :id"
    store.write_sync(lambda db: db.execute(sql, id=seed.hello["id"]))
    for method, at, body in (
        ("POST", COMMENTS, {"body": "Hm"}),
        ("POST", ISSUES, {"title": "Hm"}),
        ("PATCH", ONE, {"title": "Hm"}),
        ("POST", f"{ONE}/labels", {"labels": ["bug"]}),
        ("POST", f"{ONE}/assignees", {"assignees": ["octo"]}),
    ):
        answer = await client.request(method, at, json=body)
        assert_error(answer, 403, "Repository was archived so is read-only.")


async def test_interaction_limits_hold_comments_and_issues(
    client: httpx.AsyncClient,
    platform: Platform,
    store: Store,
    seed: Any,
    reader: Headers,
    clock: MovableClock,
) -> None:
    repo, ends = platform.world.repo, clock.now() + 10 * DAY
    store.write_sync(interaction_limits.limit_repository, repo, "existing_users", ends)
    tries = ((COMMENTS, {"body": "Hm"}), (ISSUES, {"title": "Hm"}))
    for at, body in tries:
        answer = await client.post(at, json=body, headers=reader)
        assert_error(answer, 403)
        assert "users whose accounts are a day old" in answer.json()["message"]
        await done(await client.post(at, json=body), 201)
    # The limit does not apply to an account that is a day old.
    sql = "UPDATE account SET created_at = :then WHERE id = :id"
    old = {"then": clock.now() - DAY, "id": seed.reader["id"]}
    store.write_sync(lambda db: db.execute(sql, **old))
    for at, body in tries:
        await done(await client.post(at, json=body, headers=reader), 201)


# Issues


async def test_an_issue_is_created(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    due = {"number": 4, "title": "v1.0", "open_issues": 2, "closed_issues": 0}
    platform.report("milestone", "created", milestone=due)
    body = {
        "title": "A crack",
        "body": "As in #1",
        "labels": ["bug", {"name": "Loud"}],
        "assignees": ["OCTO"],
        "milestone": 4,
    }
    made = await done(await client.post(ISSUES, json=body), 201)
    assert (made["number"], made["state"], made["title"]) == (3, "open", "A crack")
    assert [one["name"] for one in made["labels"]] == ["bug", "Loud"]
    assert [one["login"] for one in made["assignees"]] == ["octo"]
    assert (made["milestone"]["title"], made["milestone"]["open_issues"]) == ("v1.0", 3)
    assert (made["user"]["login"], made["author_association"]) == ("octo", "OWNER")
    assert await done(await client.get(f"{ISSUES}/3")) == made
    assert await kinds(client) == ["cross-referenced"]
    assert await kinds(client, 3) == ["milestoned", "labeled", "labeled", "assigned"]
    reported = [payload["action"] for payload in bodies(store, "issues")]
    assert reported == ["opened", "milestoned", "labeled", "labeled", "assigned"]
    assert [one["label"]["name"] for one in bodies(store, "label")] == ["bug", "Loud"]
    # The next number may go to an issue of the platform or of the API.
    platform.report("issues", "opened", issue=issue(4))
    assert (await done(await client.post(ISSUES, json={"title": "x"}), 201))["number"] == 5


async def test_issues_of_outsiders_have_no_labels_or_assignees(
    client: httpx.AsyncClient, platform: Platform, reader: Headers
) -> None:
    body = {"title": "Hm", "labels": ["bug"], "assignees": ["octo"], "milestone": 77}
    made = await done(await client.post(ISSUES, json=body, headers=reader), 201)
    assert (made["labels"], made["assignees"], made["milestone"]) == ([], [], None)
    private = await client.post("/repos/octo/vault/issues", json=body, headers=reader)
    assert_error(private, 404)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"title": "  "}, "title"),
        ({"title": "x", "milestone": 77}, "milestone"),
        ({"title": "x", "assignees": ["reader"]}, "assignees"),
    ],
)
async def test_an_invalid_issue_is_rejected(
    client: httpx.AsyncClient, platform: Platform, store: Store, body: dict[str, Any], field: str
) -> None:
    content = assert_error(await client.post(ISSUES, json=body), 422)
    assert [one["field"] for one in content["errors"]] == [field]
    assert bodies(store, "issues") == []
    assert (await client.get(f"{ISSUES}/3")).status_code == 404


async def test_a_repository_without_issues(
    client: httpx.AsyncClient, platform: Platform, store: Store, seed: Any
) -> None:
    sql = "UPDATE repository SET has_issues = 0 WHERE id = :id"
    store.write_sync(lambda db: db.execute(sql, id=seed.hello["id"]))
    answer = await client.post(ISSUES, json={"title": "Hm"})
    for one in (answer, await client.get(ISSUES)):
        assert_error(one, 410, "Issues are disabled for this repo")


async def test_an_edit_of_title_and_text_is_recorded(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    given = {"title": "Louder", "body": "See @reader"}
    changed = await done(await client.patch(ONE, json=given))
    assert {name: changed[name] for name in given} == given
    (payload,) = bodies(store, "issues")
    assert payload["changes"] == {"title": {"from": "Spelling error"}, "body": {"from": ""}}
    assert await kinds(client) == ["renamed", "mentioned", "subscribed"]
    # An older event of the platform does not change the title back, and a newer one does.
    platform.report("issues", "edited", issue=issue(1, title="Old"))
    assert (await client.get(ONE)).json()["title"] == "Louder"
    platform.report("issues", "edited", issue=issue(1, title="New", updated_at="2026-12-01"))
    assert (await client.get(ONE)).json()["title"] == "New"


# Events that become state after an operation


async def test_an_operation_and_an_earlier_event_both_change_an_issue(
    client: httpx.AsyncClient, platform: Platform, clock: MovableClock
) -> None:
    # The platform labels and assigns the issue, and a bot answers before the projector's turn.
    clock.advance(10)
    people = [{"login": "octo"}]
    given = issue(labels=[{"name": "bug"}], assignees=people, title="Theirs", updated_at=now(clock))
    clock.advance(1.2)
    await done(await client.post(f"{ONE}/labels", json={"labels": ["triage"]}))
    await done(await client.patch(ONE, json={"body": "Ours"}))
    changed = (await client.get(ONE)).json()["updated_at"]
    platform.report("issues", "labeled", issue=given, label={"name": "bug"})
    found = (await client.get(ONE)).json()
    assert [one["name"] for one in found["labels"]] == ["bug", "triage"]
    assert [one["login"] for one in found["assignees"]] == ["octo"]
    assert (found["title"], found["body"], found["updated_at"]) == ("Theirs", "Ours", changed)


async def test_an_earlier_event_undoes_no_operation(
    client: httpx.AsyncClient, platform: Platform, clock: MovableClock
) -> None:
    due = {"number": 4, "title": "v1", "open_issues": 1, "closed_issues": 2, "updated_at": "2026"}
    old = issue(labels=[{"name": "bug"}], assignees=[{"login": "octo"}], milestone=due)
    platform.report("issues", "opened", issue=old)
    clock.advance(60)
    body = {"labels": ["new"], "assignees": [], "milestone": None, "state": "closed"}
    await done(await client.patch(ONE, json=body))
    before = (await client.get(ONE)).json()
    platform.report("issues", "milestoned", issue=old, milestone=due)
    platform.report("issues", "closed", issue=old | {"state": "closed"})
    assert (await client.get(ONE)).json() == before
    assert before["closed_by"]["login"] == "octo"
    assert before["milestone"] is None
    platform.report("issues", "labeled", issue=old | {"updated_at": now(clock, 1)})
    after = (await client.get(ONE)).json()
    assert [one["name"] for one in after["labels"]] == ["bug"]
    assert after["state"] == "open"


async def test_a_milestone_keeps_the_changes_by_operations(
    client: httpx.AsyncClient, platform: Platform, clock: MovableClock
) -> None:
    due = {"number": 4, "title": "v1", "open_issues": 5, "closed_issues": 2}
    old = issue(milestone=due | {"updated_at": "2026-11-20T10:00:00Z"})
    platform.report("issues", "milestoned", issue=old)

    async def counts() -> tuple[int, int]:
        found = (await client.get(f"{HELLO}/milestones/4")).json()
        return found["open_issues"], found["closed_issues"]

    clock.advance(60)
    await done(await client.patch(ONE, json={"state": "closed"}))
    assert await counts() == (4, 3)
    platform.report("issues", "milestoned", issue=old)
    assert await counts() == (4, 3)
    # Another issue was added before the operation.
    more = due | {"open_issues": 6, "updated_at": "2026-11-20T10:00:05Z"}
    platform.report("issues", "milestoned", issue=issue(7, milestone=more), milestone=more)
    assert await counts() == (5, 3)
    later = issue(updated_at=now(clock, 1), milestone=more | {"updated_at": now(clock, 1)})
    platform.report("issues", "edited", issue=later)
    assert await counts() == (6, 2)


async def test_the_number_of_comments_is_the_number_of_listed_ones(
    client: httpx.AsyncClient, platform: Platform, clock: MovableClock
) -> None:
    async def counts() -> tuple[int, int]:
        return (await client.get(ONE)).json()["comments"], len((await client.get(COMMENTS)).json())

    await done(await client.post(COMMENTS, json={"body": "Ours"}), 201)
    clock.advance(10)
    platform.report("issues", "edited", issue=issue(updated_at=now(clock)))
    assert await counts() == (1, 1)
    at = {"created_at": now(clock), "updated_at": now(clock)}
    said = {"id": 5, "body": "Theirs", "user": {"login": "amy"}, **at}
    clock.advance(2)
    await done(await client.post(COMMENTS, json={"body": "Ours too"}), 201)
    given = issue(updated_at=at["updated_at"], comments=1)
    platform.report("issue_comment", "created", issue=given, comment=said)
    assert await counts() == (3, 3)
    clock.advance(2)
    assert (await client.delete(f"{ISSUES}/comments/5")).status_code == 204
    platform.report("issue_comment", "created", issue=given, comment=said)
    assert await counts() == (2, 2)
    # The platform still counts its comment, and then deletes it.
    clock.advance(2)
    platform.report("issues", "edited", issue=issue(updated_at=now(clock), comments=1))
    assert await counts() == (2, 2)
    gone = issue(updated_at=now(clock))
    platform.report("issue_comment", "deleted", issue=gone, comment=said)
    platform.report("issue_comment", "edited", issue=gone, comment=said)
    assert await counts() == (2, 2)


async def test_comments_of_a_platform_that_never_came_are_counted(
    client: httpx.AsyncClient, platform: Platform, clock: MovableClock
) -> None:
    async def count() -> int:
        found: int = (await client.get(ONE)).json()["comments"]
        return found

    clock.advance(10)
    said = {"id": 5, "body": "Theirs", "user": {"login": "amy"}, "updated_at": now(clock)}
    given = issue(updated_at=now(clock), comments=7)
    platform.report("issue_comment", "created", issue=given, comment=said)
    assert await count() == 7
    await done(await client.post(COMMENTS, json={"body": "Ours"}), 201)
    assert await count() == 8
    clock.advance(10)
    assert (await client.delete(f"{ISSUES}/comments/5")).status_code == 204
    assert await count() == 7
    # Some platforms report the number before the change.
    platform.report("issue_comment", "deleted", issue=given, comment=said)
    assert await count() == 7
    platform.report("issues", "edited", issue=issue(updated_at=now(clock), comments=6))
    assert await count() == 7


async def test_a_later_event_restores_a_comment_that_an_operation_deleted(
    client: httpx.AsyncClient, platform: Platform, clock: MovableClock
) -> None:
    said = {"id": 5, "body": "one", "user": {"login": "amy"}, "updated_at": now(clock)}
    platform.report("issue_comment", "created", issue=issue(comments=1), comment=said)
    clock.advance(10)
    assert (await client.delete(f"{ISSUES}/comments/5")).status_code == 204
    clock.advance(10)
    platform.report("issue_comment", "created", issue=issue(comments=1), comment=said)
    assert_error(await client.get(f"{ISSUES}/comments/5"), 404)
    edited = said | {"body": "two", "updated_at": now(clock)}
    platform.report("issue_comment", "edited", issue=issue(comments=1), comment=edited)
    assert (await client.get(f"{ISSUES}/comments/5")).json()["body"] == "two"
    assert (await client.get(ONE)).json()["comments"] == 1


async def test_closing_and_reopening_update_the_milestone(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    due = {"number": 4, "title": "v1.0", "open_issues": 1, "closed_issues": 0}
    milestone = {"milestone": due, "updated_at": "2026-11-20T10:01:00Z"}
    platform.report("issues", "milestoned", issue=issue(1, **milestone))
    closed = await done(
        await client.patch(ONE, json={"state": "closed", "state_reason": "not_planned"})
    )
    assert (closed["state"], closed["state_reason"]) == ("closed", "not_planned")
    assert closed["closed_by"]["login"] == "octo"
    assert closed["closed_at"] is not None
    counts = (closed["milestone"]["open_issues"], closed["milestone"]["closed_issues"])
    assert counts == (0, 1)
    again = await done(await client.patch(ONE, json={"state": "open"}))
    assert (again["state"], again["state_reason"]) == ("open", "reopened")
    assert (again["closed_at"], again["closed_by"]) == (None, None)
    assert (await kinds(client))[-2:] == ["closed", "reopened"]
    assert [one["action"] for one in bodies(store, "issues")] == ["closed", "reopened"]
    pulled = await done(await client.patch(f"{ISSUES}/2", json={"state": "closed"}))
    assert (pulled["state"], pulled["state_reason"]) == ("closed", None)
    assert [one["action"] for one in bodies(store, "pull_request")] == ["closed"]


async def test_another_reason_closes_an_issue_again(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    first = await done(await client.patch(ONE, json={"state": "closed"}))
    for change in ({"state": "closed", "state_reason": "duplicate"}, {"state": "closed"}):
        again = await done(await client.patch(ONE, json=change))
        assert (again["state_reason"], again["closed_at"]) == ("duplicate", first["closed_at"])
    reasons = [one["issue"]["state_reason"] for one in bodies(store, "issues")]
    assert reasons == ["completed", "duplicate"]
    timeline = (await client.get(f"{ONE}/timeline")).json()
    assert [one["state_reason"] for one in timeline if one["event"] == "closed"] == reasons


async def test_a_closed_pull_request_is_not_closed_again_for_a_reason(
    client: httpx.AsyncClient, store: Store, platform: Platform
) -> None:
    closed = issue(9, state="closed", state_reason="completed", pull_request={"url": "x"})
    comment = {"id": 77, "body": "x", "user": closed["user"], "created_at": closed["created_at"]}
    platform.report("issue_comment", "created", issue=closed, comment=comment)
    assert platform.issue(9)["is_pull"]
    await done(
        await client.patch(f"{ISSUES}/9", json={"state": "closed", "state_reason": "duplicate"})
    )
    assert platform.issue(9)["state_reason"] == "completed"
    assert bodies(store, "pull_request") == []


async def test_a_reason_that_does_not_fit_the_state_counts_as_none(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    for state, reason, kept in (
        ("closed", "reopened", "completed"),
        ("closed", "reopened", "completed"),
        ("open", "not_planned", "reopened"),
    ):
        shown = await done(await client.patch(ONE, json={"state": state, "state_reason": reason}))
        assert (shown["state"], shown["state_reason"]) == (state, kept)
    assert [one["action"] for one in bodies(store, "issues")] == ["closed", "reopened"]


async def test_events_about_milestones_count_the_issue(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    due = {"number": 4, "title": "v1.0", "open_issues": 2, "closed_issues": 0}
    platform.report("milestone", "created", milestone=due)
    await done(await client.patch(ONE, json={"milestone": 4, "state": "closed"}))
    await done(await client.patch(ONE, json={"milestone": None}))
    milestoned, closed, demilestoned = bodies(store, "issues")
    assert milestoned["milestone"] == closed["issue"]["milestone"]
    counts = [
        (one["milestone"]["open_issues"], one["milestone"]["closed_issues"])
        for one in (milestoned, demilestoned)
    ]
    assert counts == [(2, 1), (2, 0)]


async def test_an_empty_assignee_stands_for_none(
    client: httpx.AsyncClient, platform: Platform
) -> None:
    for empty in ("", None):
        await done(await client.patch(ONE, json={"assignee": "octo"}))
        changed = await done(await client.patch(ONE, json={"assignee": empty, "state": "closed"}))
        assert (changed["assignee"], changed["assignees"], changed["state"]) == (None, [], "closed")


async def test_authors_without_write_access_cannot_change_labels(
    client: httpx.AsyncClient, platform: Platform, reader: Headers, helper: Headers
) -> None:
    made = await done(await client.post(ISSUES, json={"title": "Hm"}, headers=reader), 201)
    at = f"{ISSUES}/{made['number']}"
    body = {"title": "Hmm", "state": "closed", "labels": ["bug"]}
    changed = await done(await client.patch(at, json=body, headers=reader))
    assert (changed["title"], changed["state"], changed["labels"]) == ("Hmm", "closed", [])
    body = {"state": "open", "assignees": ["octo"]}
    changed = await done(await client.patch(at, json=body, headers=helper))
    assert (changed["state"], changed["assignee"]["login"]) == ("open", "octo")
    for place, noun in ((at, "issue"), (f"{ISSUES}/2", "pull request")):
        refused = await client.patch(place, json={"title": "No"}, headers=helper)
        message = f"Must have push access to edit the title or body of this {noun}."
        assert_error(refused, 403, message)
    assert_error(await client.patch(ONE, json={"state": "closed"}, headers=reader), 403)


# Labels and assignees


async def test_labels_of_an_issue_are_changed(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    platform.report("label", "created", label={"name": "Bug", "color": "d73a4a"})
    at = f"{ONE}/labels"
    found = await done(await client.post(at, json={"labels": ["bug", "new"]}))
    assert [one["name"] for one in found] == ["Bug", "new"]
    (made,) = bodies(store, "label")
    assert (made["label"]["name"], made["label"]["color"]) == ("new", "ededed")
    found = await done(await client.put(at, json=["new", "other"]))
    assert [one["name"] for one in found] == ["new", "other"]
    assert await done(await client.delete(f"{at}/NEW")) == found[1:]
    assert_error(await client.delete(f"{at}/new"), 404)
    assert (await client.delete(at)).status_code == 204
    assert await done(await client.get(at)) == []
    assert await kinds(client) == [
        *("labeled", "labeled", "unlabeled", "labeled", "unlabeled", "unlabeled")
    ]
    reported = [(one["action"], one["label"]["name"]) for one in bodies(store, "issues")]
    assert reported[2:] == [
        ("unlabeled", "Bug"),
        ("labeled", "other"),
        ("unlabeled", "new"),
        ("unlabeled", "other"),
    ]


async def test_a_label_with_a_slash_is_removed_with_the_slash_encoded_or_not(
    client: httpx.AsyncClient, platform: Platform
) -> None:
    """PyGithub and go-github do not encode it."""
    platform.report("label", "created", label={"name": "bug"})
    at = f"{ONE}/labels"
    await done(await client.post(at, json=["area/bell", "area/old rope", "bug"]))
    await done(await client.delete(f"{at}/area%2Fbell"))
    left = await done(await client.delete(f"{at}/area/old%20rope"))
    assert [one["name"] for one in left] == ["bug"]


async def test_labels_need_triage_and_new_ones_need_write_access(
    client: httpx.AsyncClient, platform: Platform, reader: Headers, helper: Headers
) -> None:
    platform.report("label", "created", label={"name": "bug"})
    at = f"{ONE}/labels"
    await done(await client.post(at, json=["bug"], headers=helper))
    assert_error(await client.post(at, json=["new"], headers=helper), 403)
    assert_error(await client.post(at, json=["bug"], headers=reader), 403)


async def test_too_many_labels(client: httpx.AsyncClient, platform: Platform) -> None:
    names = [f"l{number}" for number in range(101)]
    assert_error(await client.post(f"{ONE}/labels", json=names), 422)
    await done(await client.post(f"{ONE}/labels", json=names[:100]))
    assert_error(await client.post(f"{ONE}/labels", json=names[100:]), 422)
    assert len((await client.get(f"{HELLO}/labels?per_page=100")).json()) == 100


async def test_assignees_of_an_issue_are_changed(
    client: httpx.AsyncClient, platform: Platform, store: Store, seed: Any
) -> None:
    store.write_sync(repositories.grant, seed.hello["id"], seed.reader["id"], "write")
    at = f"{ISSUES}/2/assignees"
    body = {"assignees": ["octo", "READER", "stranger"]}
    found = await done(await client.post(at, json=body), 201)
    assert [one["login"] for one in found["assignees"]] == ["octo", "reader"]
    left = await done(await client.request("DELETE", at, json={"assignees": ["Octo", "stranger"]}))
    assert [one["login"] for one in left["assignees"]] == ["reader"]
    reported = [(one["action"], one["assignee"]["login"]) for one in bodies(store, "pull_request")]
    assert reported == [("assigned", "octo"), ("assigned", "reader"), ("unassigned", "octo")]
    assert await kinds(client, 2) == ["assigned", "assigned", "unassigned"]


async def test_too_many_assignees(
    client: httpx.AsyncClient, platform: Platform, store: Store, seed: Any
) -> None:
    logins = [f"u{number}" for number in range(11)]
    for login in logins:
        account = store.write_sync(accounts.create, login)
        store.write_sync(repositories.grant, seed.hello["id"], account["id"], "write")
    at = f"{ONE}/assignees"
    await done(await client.post(at, json={"assignees": logins[:10]}), 201)
    assert_error(await client.post(at, json={"assignees": logins[10:]}), 422)


async def test_a_comment_is_answered_in_the_form_that_was_asked_for(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    headers = {"Accept": "application/vnd.service.html+json"}
    made = await done(await client.post(COMMENTS, json={"body": "*Hm*"}, headers=headers), 201)
    assert "<em>Hm</em>" in made["body_html"]
    assert "body" not in made
    at = f"{ISSUES}/comments/{made['id']}"
    headers = {"Accept": "application/vnd.service.full+json"}
    changed = await done(await client.patch(at, json={"body": "*Aha*"}, headers=headers))
    assert (changed["body"], changed["body_text"]) == ("*Aha*", "Aha")
    for payload in bodies(store, "issue_comment"):
        assert "body_html" not in payload["comment"]


async def test_an_issue_is_answered_in_the_form_that_was_asked_for(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    client.headers["Accept"] = "application/vnd.service.full+json"
    made = await done(await client.post(ISSUES, json={"title": "x", "body": "*Hm*"}), 201)
    assert "<em>Hm</em>" in made["body_html"]
    at = f"{ISSUES}/{made['number']}"
    changed = await done(await client.patch(at, json={"state": "closed"}))
    assert (changed["body"], changed["body_text"]) == ("*Hm*", "Hm")
    body = {"assignees": ["octo"]}
    added = await done(await client.post(f"{at}/assignees", json=body), 201)
    gone = await done(await client.request("DELETE", f"{at}/assignees", json=body))
    assert made["body_html"] == added["body_html"] == gone["body_html"]
    for payload in bodies(store, "issues"):
        assert "body_html" not in payload["issue"]


async def test_empty_lists_and_texts_remove_labels_and_the_milestone(
    client: httpx.AsyncClient, platform: Platform
) -> None:
    due = {"number": 4, "title": "v1.0"}
    platform.report("issues", "opened", issue=issue(labels=[{"name": "bug"}], milestone=due))
    assert await done(await client.put(f"{ONE}/labels", json=[])) == []
    for sent, title in (("", None), ("4", "v1.0"), (None, None)):
        changed = await done(await client.patch(ONE, json={"milestone": sent}))
        assert (changed["milestone"] or {}).get("title") == title
    answer = await client.patch(ONE, json={"milestone": "v1.0"})
    assert_error(answer, 422)
    assert "For 'milestone': Input should be a valid integer." in answer.json()["message"]


async def test_no_event_uses_up_the_numbers_of_issues(
    client: httpx.AsyncClient, platform: Platform, helper: Headers
) -> None:
    platform.report("issues", "opened", issue=issue(2**63 - 1))
    platform.report("pull_request", "opened", pull_request=pull(2**31))
    made = await done(await client.post(ISSUES, json={"title": "Ring"}, headers=helper), 201)
    assert made["number"] == 3
    platform.report("issues", "opened", issue=issue(3))
    assert (await done(await client.get(f"{ISSUES}/4")))["title"] == "Ring"


async def test_no_count_in_an_event_is_too_high_to_be_changed(
    client: httpx.AsyncClient, platform: Platform, helper: Headers
) -> None:
    most = 2**63 - 1
    counts = {"open_issues": most, "closed_issues": most}
    milestone = {"id": 7, "number": 1, "title": "M", "state": "open", **counts}
    platform.report("issues", "edited", issue=issue(1, comments=most, milestone=milestone))
    await done(await client.post(COMMENTS, json={"body": "Hm"}, headers=helper), 201)
    await done(await client.patch(ONE, json={"state": "closed"}))
    await done(await client.patch(ONE, json={"milestone": None}))
    await done(await client.get(ONE))
    await done(await client.get(f"{HELLO}/milestones/1"))
