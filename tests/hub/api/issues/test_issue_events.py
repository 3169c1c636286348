"""The events and the timelines of issues."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, by_id, links
from bearer import bearer
from issue_world import SHA, Platform, issue, pull
from statement_log import statements
from store_world import World
from transactions import transaction

from store import Store
from store.accounts import accounts, teams, tokens
from store.clock import MovableClock
from store.issues import issue_events, issues
from store.issues.issue_events import IssueEventData
from store.repositories import repositories, repository_removal

HELLO, VAULT = "/repos/octo/hello", "/repos/octo/vault"
ALL = f"{HELLO}/issues/events"
ONE = f"{HELLO}/issues/1"
BUG = {"name": "bug", "color": "d73a4a"}


def of(store: Store, clock: MovableClock, repo: Any) -> Platform:
    row = store.read_sync(repositories.get, repo["id"])
    assert row is not None
    return Platform(World(store, clock, {}, row))


@pytest.fixture
def platform(store: Store, clock: MovableClock, seed: Any) -> Platform:
    """A platform that reports events of octo/hello."""
    return of(store, clock, seed.hello)


def same_repo_pull(number: int = 2, **changed: Any) -> dict[str, Any]:
    """A pull request from a branch of octo/hello."""
    own = {"full_name": "octo/hello"}
    return pull(number, head={"ref": "changes", "sha": SHA, "repo": own}) | changed


async def listed(hub: httpx.AsyncClient, path: str, **how: Any) -> list[dict[str, Any]]:
    answer = await hub.get(path, **how)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


async def test_an_event_is_shown_with_its_issue(hub: httpx.AsyncClient, platform: Platform) -> None:
    due = {
        "id": 5,
        "number": 1,
        "title": "v1.0",
        "description": "First",
        "state": "open",
        "creator": {"login": "octo"},
        "open_issues": 4,
        "closed_issues": 8,
        "due_on": "2027-01-01T00:00:00Z",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-02T00:00:00Z",
    }
    given = issue(
        body="Hm",
        state="closed",
        state_reason="completed",
        closed_at="2026-11-20T10:00:00Z",
        labels=[{"name": "bug", "color": "d73a4a", "default": True, "description": "Wrong"}],
        assignees=[{"login": "octo"}, {"login": "reader"}],
        milestone=due,
        comments=3,
        active_lock_reason="spam",
        locked=True,
    )
    platform.report("issues", "closed", issue=given)
    (event,) = await listed(hub, ALL)
    shown = event.pop("issue")
    number = event["id"]
    assert event.pop("node_id")
    assert event.pop("actor")["login"] == "robin"
    assert event == {
        "id": number,
        "url": f"{BASE}{ALL}/{number}",
        "event": "closed",
        "commit_id": None,
        "commit_url": None,
        "created_at": "2026-11-20T10:00:00Z",
        "performed_via_service_app": None,
        "state_reason": "completed",
    }
    url = f"{BASE}{ONE}"
    assert shown["assignee"]["login"] == "octo"
    assert [person["login"] for person in shown["assignees"]] == ["octo", "reader"]
    assert shown["user"]["login"] == "octo-cat"
    assert shown["closed_by"]["login"] == "robin"
    (label,) = shown["labels"]
    assert {name: label[name] for name in ("url", "name", "description", "color", "default")} == {
        "url": f"{BASE}{HELLO}/labels/bug",
        "name": "bug",
        "description": "Wrong",
        "color": "d73a4a",
        "default": True,
    }
    milestone = shown["milestone"]
    assert milestone.pop("creator")["login"] == "octo"
    assert milestone.keys() == {
        *("url", "html_url", "labels_url", "id", "node_id", "number", "state", "title"),
        *("description", "open_issues", "closed_issues", "created_at", "updated_at"),
        *("closed_at", "due_on"),
    }
    assert milestone["html_url"] == "https://forge.example/octo/hello/milestone/1"
    assert (milestone["open_issues"], milestone["closed_issues"]) == (4, 8)
    expected = {
        "url": url,
        "repository_url": f"{BASE}{HELLO}",
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": "https://forge.example/octo/hello/issues/1",
        "number": 1,
        "state": "closed",
        "state_reason": "completed",
        "title": "Spelling error",
        "body": "Hm",
        "pinned_comment": None,
        "locked": True,
        "active_lock_reason": "spam",
        "comments": 3,
        "closed_at": "2026-11-20T10:00:00Z",
        "created_at": "2026-11-20T09:00:00Z",
        "updated_at": "2026-11-20T10:00:00Z",
        "author_association": "OWNER",
    }
    assert {name: shown[name] for name in expected} == expected
    assert "pull_request" not in shown
    assert "draft" not in shown
    alone = (await hub.get(f"{ALL}/{number}")).json()
    assert alone == (await listed(hub, ALL))[0]


async def test_a_pull_requests_event_where_issues_are_off(
    hub: httpx.AsyncClient, platform: Platform, store: Store, seed: Any
) -> None:
    sql = "UPDATE repository SET has_issues = 0 WHERE id = :id"
    store.write_sync(lambda db: db.execute(sql, id=seed.hello["id"]))
    merged = same_repo_pull(
        state="closed",
        merged=True,
        merge_commit_sha=SHA,
        merged_at="2026-11-20T10:00:00Z",
        draft=True,
    )
    platform.report("pull_request", "closed", pull_request=merged)
    closed, merge = await listed(hub, ALL)
    assert (closed["event"], merge["event"]) == ("closed", "merged")
    assert merge["commit_id"] == SHA
    assert merge["commit_url"] == f"{BASE}{HELLO}/commits/{SHA}"
    page = "https://forge.example/octo/hello/pull/2"
    assert merge["issue"]["pull_request"] == {
        "url": f"{BASE}{HELLO}/pulls/2",
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "merged_at": "2026-11-20T10:00:00Z",
    }
    assert merge["issue"]["html_url"] == page
    assert merge["issue"]["draft"] is True


async def test_the_newest_first_and_in_pages(hub: httpx.AsyncClient, platform: Platform) -> None:
    for number in range(1, 6):
        platform.report("issues", "pinned", issue=issue(number, updated_at=f"2026-11-0{number}"))
    answer = await hub.get(f"{ALL}?per_page=2")
    assert [event["issue"]["number"] for event in answer.json()] == [5, 4]
    assert links(answer) == {
        "next": f"{by_id(ALL)}?per_page=2&page=2",
        "last": f"{by_id(ALL)}?per_page=2&page=3",
    }
    assert [event["issue"]["number"] for event in await listed(hub, f"{ALL}?page=2")] == []


async def test_a_page_too_far_back_is_refused(hub: httpx.AsyncClient) -> None:
    assert (await hub.get(f"{ALL}?per_page=100&page=1000")).status_code == 200
    assert_error(await hub.get(f"{ALL}?per_page=100&page=1001"), 422)


async def test_events_of_an_issue_are_listed_oldest_first(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("issues", "labeled", issue=issue(), label=BUG)
    platform.report("issues", "pinned", issue=issue(updated_at="2026-11-20T11:00:00Z"))
    platform.report("issues", "pinned", issue=issue(3))
    found = await listed(hub, f"{ONE}/events")
    assert [event["event"] for event in found] == ["labeled", "pinned"]
    assert found[0]["label"] == BUG
    assert "issue" not in found[0]
    answer = await hub.get(f"{ONE}/events?per_page=1&page=2")
    assert links(answer)["first"] == f"{by_id(ONE)}/events?per_page=1&page=1"
    assert (await listed(hub, f"{HELLO}/issues/3/events"))[0]["event"] == "pinned"


async def test_events_show_people_and_teams(hub: httpx.AsyncClient, platform: Platform) -> None:
    amy = {"login": "amy", "type": "User"}
    platform.report("issues", "assigned", issue=issue(), assignee=amy)
    platform.report(
        "pull_request", "review_requested", pull_request=same_repo_pull(), requested_reviewer=amy
    )
    team = {"id": 4, "name": "Core", "slug": "core", "description": None, "permission": "push"}
    platform.report(
        "pull_request", "review_requested", pull_request=same_repo_pull(), requested_team=team
    )
    (assigned,) = await listed(hub, f"{ONE}/events")
    assert (assigned["assignee"]["login"], assigned["assigner"]["login"]) == ("amy", "robin")
    one, other = await listed(hub, f"{HELLO}/issues/2/events")
    assert one["review_requester"]["login"] == other["review_requester"]["login"] == "robin"
    assert one["requested_reviewer"]["login"] == "amy"
    assert "requested_team" not in one
    assert (other["requested_team"]["slug"], other["requested_team"]["permission"]) == (
        "core",
        "push",
    )
    assert other["requested_team"]["html_url"] == "https://forge.example/orgs/octo/teams/core"


async def test_a_secret_team_is_shown_to_its_members_and_to_owners(
    hub: httpx.AsyncClient,
    store: Store,
    seed: Any,
    platform: Platform,
    octo: dict[str, str],
    reader: dict[str, str],
) -> None:
    core = {"id": 4, "name": "Core", "slug": "core", "privacy": "secret"}
    opened = same_repo_pull(requested_teams=[core])
    platform.report("pull_request", "review_requested", pull_request=opened, requested_team=core)

    async def shown(**how: Any) -> list[bool]:
        events = [*await listed(hub, f"{HELLO}/issues/2/events", **how)]
        events += await listed(hub, f"{HELLO}/issues/2/timeline", **how)
        (pull_,) = await listed(hub, f"{HELLO}/pulls", **how)
        return [*("requested_team" in one for one in events), pull_["requested_teams"] != []]

    assert await shown(headers=octo) == [True, True, True]
    assert await shown() == await shown(headers=reader) == [False, False, False]
    team = store.write_sync(teams.create, seed.octo["id"], "Core", privacy="secret")
    assert await shown(headers=reader) == [False, False, False]
    store.write_sync(teams.join, team["id"], [seed.reader["id"]])
    assert await shown(headers=reader) == [True, True, True]
    assert await shown() == [False, False, False]
    # A token for another account sees of this one only the public parts.
    for target, seen in ((seed.octo["id"], True), (seed.reader["id"], False)):
        held = {"kind": "app_user", "permissions": {"issues": "read"}, "target_id": target}
        value, _ = store.write_sync(tokens.create, seed.octo["id"], **held)
        assert await shown(headers=bearer(value)) == [seen] * 3


async def test_a_team_that_one_report_calls_secret_is_hidden(
    hub: httpx.AsyncClient, platform: Platform, octo: dict[str, str]
) -> None:
    """It was open when the older pull request came. The newer one is listed first."""
    for number, privacy in ((2, "closed"), (3, "secret")):
        core = {"id": 4, "name": "Core", "slug": "core", "privacy": privacy}
        asked = same_repo_pull(number, requested_teams=[core])
        platform.report("pull_request", "review_requested", pull_request=asked, requested_team=core)
    for headers, shown in ((octo, [True, True]), ({}, [False, False])):
        found = await listed(hub, f"{HELLO}/pulls", headers=headers)
        assert [one["requested_teams"] != [] for one in found] == shown
        found = await listed(hub, ALL, headers=headers)
        assert ["requested_team" in one for one in found] == shown


async def test_an_event_without_its_actor_shows_the_ghost(
    hub: httpx.AsyncClient, store: Store, platform: Platform
) -> None:
    platform.report("issues", "pinned", issue=issue())
    store.write_sync(lambda db: db.execute("UPDATE issue_event SET actor_id = NULL"))
    (event,) = await listed(hub, f"{ONE}/events")
    assert event["actor"]["login"] == "ghost"


async def test_a_sub_issue_in_a_private_repository_is_hidden(
    hub: httpx.AsyncClient, store: Store, platform: Platform, octo: dict[str, str]
) -> None:
    for name in ("octo/hello", "octo/vault", "else/where"):
        platform.report(
            "sub_issues",
            "sub_issue_added",
            parent_issue=issue(1, updated_at=f"2026-11-20T10:00:0{len(name) % 3}Z"),
            sub_issue=issue(9, title=f"Of {name}"),
            sub_issue_repo={"full_name": name},
        )
    found = await listed(hub, f"{ONE}/events", headers=octo)
    shown = [event["sub_issue"] and event["sub_issue"]["title"] for event in found]
    assert sorted(shown, key=str) == [None, None, "Of octo/hello"]
    (known,) = (event["sub_issue"] for event in found if event["sub_issue"])
    assert known["repository"]["full_name"] == "octo/hello"
    assert (known["number"], known["state"]) == (9, "open")


# The timeline


async def test_a_timeline_holds_events_comments_and_commits(
    hub: httpx.AsyncClient, platform: Platform, octo: dict[str, str]
) -> None:
    clock = platform.world.clock
    platform.report(
        "pull_request", "opened", pull_request=same_repo_pull(updated_at="2026-11-20T10:00:00Z")
    )
    author = {"name": "Octo", "email": "octo@cat.example"}
    commit = {
        "id": SHA,
        "tree_id": "e" * 40,
        "message": "Better",
        "timestamp": "2026-11-20T10:00:01Z",
        "author": author,
        "committer": author,
    }
    platform.report("push", ref="refs/heads/changes", after=SHA, commits=[commit])
    by_octo = {"user": {"login": "octo"}, "author_association": "OWNER", "body": "Hm"}
    at = {"created_at": "2026-11-20T10:00:02Z", "updated_at": "2026-11-20T10:00:02Z"}
    platform.report("issue_comment", "created", issue=issue(2), comment={"id": 5, **by_octo, **at})
    review = {"id": 6, "state": "approved", "commit_id": SHA, **by_octo}
    review["submitted_at"] = "2026-11-20T10:00:03Z"
    platform.report(
        "pull_request_review", "submitted", pull_request=same_repo_pull(), review=review
    )
    at = {"created_at": "2026-11-20T10:00:04Z", "updated_at": "2026-11-20T10:00:04Z"}
    line = {"id": 7, "path": "a.py", "line": 3, "side": "RIGHT", "diff_hunk": "@@", **by_octo}
    line |= {"commit_id": SHA, "pull_request_review_id": 6, "start_line": None, **at}
    platform.report(
        "pull_request_review_comment", "created", pull_request=same_repo_pull(), comment=line
    )
    speaks = issue(3, body="See #2", updated_at="2026-11-20T10:00:05Z")
    platform.report("issues", "opened", issue=speaks)
    clock.advance(1)
    said = await hub.post(f"{HELLO}/commits/{SHA}/comments", json={"body": "Nice"}, headers=octo)
    assert said.status_code == 201
    path = f"{HELLO}/issues/2/timeline"
    found = await listed(hub, path)
    assert [event["event"] for event in found] == [
        "committed",
        "commented",
        "reviewed",
        "line-commented",
        "cross-referenced",
        "commit-commented",
    ]
    committed, commented, reviewed, lines, crossed, on_commit = found
    assert committed["message"] == "Better"
    assert committed["author"] == {**author, "date": "2026-11-20T10:00:01Z"}
    assert committed["tree"]["sha"] == "e" * 40
    assert committed["html_url"] == f"https://forge.example/octo/hello/commit/{SHA}"
    assert (committed["parents"], committed["verification"]["verified"]) == ([], False)
    assert (commented["id"], commented["body"], commented["actor"]["login"]) == (5, "Hm", "octo")
    assert commented["html_url"] == "https://forge.example/octo/hello/pull/2#issuecomment-5"
    assert (reviewed["id"], reviewed["state"], reviewed["commit_id"]) == (6, "approved", SHA)
    assert reviewed["_links"]["pull_request"]["href"] == f"{BASE}{HELLO}/pulls/2"
    (comment,) = lines["comments"]
    assert (comment["path"], comment["line"], comment["start_line"]) == ("a.py", 3, None)
    assert (comment["pull_request_review_id"], comment["body"]) == (6, "Hm")
    assert "position" not in comment
    assert crossed["source"]["type"] == "issue"
    assert crossed["source"]["issue"]["number"] == 3
    assert on_commit["comments"] == [said.json()]
    # The list of events has none of these entries.
    assert await listed(hub, f"{HELLO}/issues/2/events") == []
    # Deleted comments disappear from the timeline.
    await hub.delete(f"{HELLO}/comments/{said.json()['id']}", headers=octo)
    platform.report("issue_comment", "deleted", issue=issue(2), comment={"id": 5})
    assert [event["event"] for event in await listed(hub, path)] == [
        "committed",
        "reviewed",
        "line-commented",
        "cross-referenced",
    ]


async def test_the_timeline_can_exclude_kinds_of_events(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("issues", "labeled", issue=issue(), label=BUG)
    platform.report("issues", "pinned", issue=issue())
    platform.report("issue_comment", "created", issue=issue(), comment={"id": 5})
    path = f"{ONE}/timeline"
    found = await listed(hub, f"{path}?exclude=labeled,%20commented")
    assert [event["event"] for event in found] == ["pinned"]
    answer = await hub.get(f"{path}?exclude=labeled&per_page=1")
    assert links(answer)["last"] == f"{by_id(path)}?exclude=labeled&per_page=1&page=2"
    assert len(await listed(hub, f"{path}?exclude=")) == 3
    assert_error(await hub.get(f"{path}?exclude=everything"), 400)


async def test_an_issue_shows_its_pinned_comment(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    comment = {"id": 5, "body": "Read this", "user": {"login": "octo"}}
    for action in ("created", "pinned"):
        platform.report("issue_comment", action, issue=issue(), comment=comment)
    platform.report("issues", "pinned", issue=issue())
    (event,) = await listed(hub, ALL)
    pinned = event["issue"]["pinned_comment"]
    assert (pinned["id"], pinned["body"], pinned["user"]["login"]) == (5, "Read this", "octo")
    assert pinned["pin"]["pinned_by"]["login"] == "robin"


# Missing and deleted issues


async def test_events_of_a_deleted_issue_are_gone(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("issues", "pinned", issue=issue())
    (event,) = await listed(hub, ALL)
    platform.report("issues", "deleted", issue=issue())
    for path in (f"{ONE}/events", f"{ONE}/timeline"):
        assert_error(await hub.get(path), 410, "This issue was deleted")
    assert_error(await hub.get(f"{ALL}/{event['id']}"), 410, "This event was deleted")
    assert await listed(hub, ALL) == []


async def test_events_of_a_transferred_issue_redirect(
    hub: httpx.AsyncClient, store: Store, seed: Any, platform: Platform
) -> None:
    tools = store.write_sync(repositories.create, seed.octo["id"], "tools")
    platform.report("issues", "pinned", issue=issue())
    (event,) = await listed(hub, ALL)
    changes = {"new_issue": {"number": 7}, "new_repository": {"full_name": "octo/tools"}}
    platform.report("issues", "transferred", issue=issue(), changes=changes)
    for rest in ("events", "timeline"):
        answer = await hub.get(f"{ONE}/{rest}?per_page=5")
        assert answer.status_code == 301
        url = f"{BASE}/repositories/{tools['id']}/issues/7/{rest}?per_page=5"
        assert answer.headers["Location"] == answer.json()["url"] == url
    by_id = await hub.get(f"/repositories/{seed.hello['id']}/issues/1/events")
    assert by_id.headers["Location"] == f"{BASE}/repositories/{tools['id']}/issues/7/events"
    assert_error(await hub.get(f"{ALL}/{event['id']}"), 410)


def transfer(platform: Platform, given: dict[str, Any]) -> None:
    changes = {"new_issue": {"number": 7}, "new_repository": {"full_name": "octo/vault"}}
    platform.report("issues", "transferred", issue=given, changes=changes)


async def test_late_events_of_an_issue_that_is_gone_are_in_no_list(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    transfer(platform, issue())
    platform.report("issues", "deleted", issue=issue(2))
    for late in (issue(), issue(2)):
        comment = {"id": 5, "body": "Look, @robin", "user": {"login": "octo"}}
        platform.report("issue_comment", "created", issue=late, comment=comment)
        platform.report("sub_issues", "sub_issue_added", parent_issue=late, sub_issue=issue(3))
    assert await listed(hub, ALL) == []


async def test_a_timeline_shows_no_issue_that_was_moved(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("issues", "opened", issue=issue())
    speaks = issue(3, body="See #1")
    platform.report("issues", "opened", issue=speaks)
    (crossed,) = await listed(hub, f"{ONE}/timeline")
    assert crossed["source"]["issue"]["body"] == "See #1"
    transfer(platform, speaks)
    (crossed,) = await listed(hub, f"{ONE}/timeline")
    assert crossed["source"] == {"type": "issue"}


async def test_a_transferred_issue_redirects_to_no_namesake_of_its_new_repository(
    hub: httpx.AsyncClient, store: Store, seed: Any, platform: Platform
) -> None:
    tools = store.write_sync(repositories.create, seed.octo["id"], "tools")
    platform.report("issues", "opened", issue=issue())
    store.write_sync(issues.move, platform.issue(), "octo/Tools", 7)
    store.write_sync(repositories.rename, tools, "old-tools")
    namesake = store.write_sync(repositories.create, seed.octo["id"], "tools")
    # A second webhook of the platform reports it now.
    store.write_sync(issues.move, platform.issue(), "octo/Tools", 7)
    answer = await hub.get(f"{ONE}/events")
    assert answer.headers["Location"] == f"{BASE}/repositories/{tools['id']}/issues/7/events"
    store.write_sync(repository_removal.remove, tools)
    assert_error(await hub.get(f"{ONE}/events"), 404)
    # If the repository was not known at that time, its name must do.
    platform.report("issues", "opened", issue=issue(2))
    store.write_sync(issues.move, platform.issue(2), "octo/later", 8)
    store.write_sync(repositories.rename, namesake, "later")
    answer = await hub.get(f"{HELLO}/issues/2/events")
    assert answer.headers["Location"] == f"{BASE}/repositories/{namesake['id']}/issues/8/events"


@pytest.mark.parametrize("name", ["octo/vault", "nobody/nothing", "x"])
async def test_an_issue_transferred_to_a_private_repository_is_hidden(
    hub: httpx.AsyncClient, store: Store, platform: Platform, octo: dict[str, str], name: str
) -> None:
    platform.report("issues", "pinned", issue=issue())
    store.write_sync(issues.move, platform.issue(), name, 7)
    assert_error(await hub.get(f"{ONE}/events"), 404, "Not Found")
    answer = await hub.get(f"{ONE}/events", headers=octo)
    assert answer.status_code == (301 if name == "octo/vault" else 404)


async def test_unknown_issue_events_are_not_found(
    hub: httpx.AsyncClient, store: Store, clock: MovableClock, seed: Any, platform: Platform
) -> None:
    platform.report("issue_comment", "created", issue=issue(), comment={"id": 5})
    secret = of(store, clock, seed.vault)
    secret.report("issues", "pinned", issue=issue(4))
    (hidden,) = secret.events(4)
    (only_shown,) = store.read_sync(
        issue_events.timeline, platform.issue()["id"], limit=9, offset=0
    )
    for path in (
        f"{HELLO}/issues/4/events",
        f"{HELLO}/issues/99/timeline",
        f"{ALL}/{hidden['id']}",
        # The timeline shows this entry, but it is not an event.
        f"{ALL}/{only_shown['id']}",
        f"{VAULT}/issues/events",
        f"{VAULT}/issues/4/timeline",
    ):
        assert_error(await hub.get(path), 404, "Not Found")


async def test_events_need_the_permission_for_issues_or_pull_requests(
    hub: httpx.AsyncClient, store: Store, clock: MovableClock, seed: Any
) -> None:
    secret = of(store, clock, seed.vault)
    secret.report("issues", "pinned", issue=issue())
    (event,) = secret.events()
    one = f"{VAULT}/issues/1"
    for permissions, of_all, of_one in (
        ({"issues": "read"}, 200, 200),
        ({"pull_requests": "read"}, 403, 200),
        ({"contents": "write"}, 403, 403),
    ):
        value, _ = store.write_sync(
            lambda db, held=permissions: tokens.create(
                db, seed.octo["id"], kind="fine_grained", permissions=held
            )
        )
        headers = bearer(value)
        answer = await hub.get(f"{VAULT}/issues/events", headers=headers)
        assert answer.status_code == of_all
        for path in (f"{one}/events", f"{one}/timeline", f"{VAULT}/issues/events/{event['id']}"):
            assert (await hub.get(path, headers=headers)).status_code == of_one


async def test_every_kind_of_event_matches_the_contract(
    hub: httpx.AsyncClient, store: Store, platform: Platform
) -> None:
    """The test stores an event of every kind, because platforms do not report all of them."""
    platform.report("issues", "opened", issue=issue())
    kinds = sorted(issue_events.KINDS - issue_events.NOT_LISTED)
    card = {"id": 1, "url": f"{BASE}/x", "project_id": 2, "project_url": f"{BASE}/y"}
    members = {"project_card": {**card, "column_name": "Done"}}

    with transaction(store) as db:
        row = issues.get(db, platform.world.repo["id"], 1)
        octo = accounts.by_login(db, "octo")
        assert row is not None
        assert octo is not None
        made = [
            IssueEventData(kind, octo["id"], db.now, members if "project" in kind else {})
            for kind in kinds
        ]
        issue_events.add(db, row, made)
    found = await listed(hub, f"{ONE}/events?per_page=100")
    assert [event["event"] for event in found] == kinds
    whole = await listed(hub, f"{ALL}?per_page=100")
    assert {event["event"] for event in whole} == set(kinds)
    shown = await listed(hub, f"{ONE}/timeline?per_page=100")
    assert {event["event"] for event in shown} == set(kinds) - issue_events.NOT_SHOWN


async def test_more_events_take_no_more_statements(
    hub: httpx.AsyncClient, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    def happen(number: int) -> None:
        people = {"assignees": [{"login": f"u{number}"}], "labels": [{"name": f"l{number}"}]}
        platform.report(
            "issues",
            "assigned",
            issue=issue(number, **people, milestone={"number": number, "title": "x"}),
            assignee={"login": f"u{number}"},
        )
        platform.report("issues", "labeled", issue=issue(1), label={"name": f"l{number}"})
        comment = {"id": number, "user": {"login": f"v{number}"}}
        platform.report("issue_comment", "created", issue=issue(1), comment=comment)
        platform.report("issue_comment", "pinned", issue=issue(1), comment=comment)

    happen(1)
    paths = (ALL, f"{ONE}/events", f"{ONE}/timeline")
    await hub.get(ALL)
    asked = statements(monkeypatch)
    costs = []
    for _ in range(2):
        for path in paths:
            asked.clear()
            await hub.get(f"{path}?per_page=100")
            costs.append(len(asked))
        for number in range(2, 6):
            happen(number)
    assert costs[:3] == costs[3:]
