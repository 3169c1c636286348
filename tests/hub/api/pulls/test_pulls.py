"""Reads of pull requests that events of a platform reported."""

from typing import Any

import httpx
from assertions import BASE, assert_error, links
from issue_world import SHA, Platform, issue, pull

from store import Store
from store.accounts import accounts
from store.repositories import repositories

PULLS = "/repos/octo/hello/pulls"
OWN = {"full_name": "octo/hello"}
FORK = {"full_name": "robin/hello"}
SIZES = {"commits": 3, "additions": 10, "deletions": 2, "changed_files": 1, "review_comments": 4}


def reported(platform: Platform, number: int, **changed: Any) -> None:
    """Report a new pull request. `number` is also the minute at which it was created."""
    minute = f"2026-11-20T10:{number:02}:00Z"
    ends = {
        "head": {"ref": f"b{number}", "sha": SHA, "repo": OWN},
        "base": {"ref": "main", "sha": "f" * 40, "repo": OWN},
    }
    given = {"created_at": minute, "updated_at": minute, **ends, **changed}
    platform.report("pull_request", "opened", pull_request=pull(number, **given))


async def numbers(hub: httpx.AsyncClient, query: str = "") -> list[int]:
    answer = await hub.get(f"{PULLS}?{query}")
    assert answer.status_code == 200, answer.text
    return [one["number"] for one in answer.json()]


async def test_all_fields_that_a_platform_sends_are_shown(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    team = {"id": 3, "name": "Choir", "slug": "choir"}
    reported(
        platform,
        2,
        title="Louder",
        body="**Ring**",
        draft=True,
        requested_reviewers=[{"login": "robin"}],
        requested_teams=[team],
        mergeable=False,
        rebaseable=True,
        mergeable_state="dirty",
        maintainer_can_modify=True,
        auto_merge={"enabled_by": {"login": "robin"}, "merge_method": "squash"},
        **SIZES,
    )
    shown = (await hub.get(f"{PULLS}/2")).json()
    url, page = f"{BASE}{PULLS}/2", "https://forge.example/octo/hello/pull/2"
    expected = {
        "url": url,
        "html_url": page,
        "diff_url": f"{page}.diff",
        "issue_url": f"{BASE}/repos/octo/hello/issues/2",
        "comments_url": f"{BASE}/repos/octo/hello/issues/2/comments",
        "commits_url": f"{url}/commits",
        "statuses_url": f"{BASE}/repos/octo/hello/statuses/{SHA}",
        "number": 2,
        "state": "open",
        "title": "Louder",
        "body": "**Ring**",
        "draft": True,
        "merged": False,
        "merged_by": None,
        "mergeable": False,
        "rebaseable": True,
        "mergeable_state": "dirty",
        "maintainer_can_modify": True,
        **SIZES,
    }
    assert {name: shown[name] for name in expected} == expected
    assert shown["_links"]["self"] == {"href": url}
    assert shown["_links"]["statuses"] == {"href": expected["statuses_url"]}
    head = shown["head"]
    assert (head["label"], head["ref"], head["sha"]) == ("octo:b2", "b2", SHA)
    assert (head["user"]["login"], head["repo"]["full_name"]) == ("octo", "octo/hello")
    assert shown["base"]["repo"]["open_issues_count"] == 1
    assert [one["login"] for one in shown["requested_reviewers"]] == ["robin"]
    assert [one["slug"] for one in shown["requested_teams"]] == ["choir"]
    auto = shown["auto_merge"]
    assert (auto["enabled_by"]["login"], auto["merge_method"]) == ("robin", "squash")
    (listed,) = (await hub.get(PULLS)).json()
    assert listed.items() <= shown.items()
    assert not listed.keys() & {"merged", "mergeable", "comments", *SIZES}


async def test_fields_that_no_event_brought_are_null_or_empty(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("issues", "opened", issue=issue(3, pull_request={}))
    shown = (await hub.get(f"{PULLS}/3")).json()
    assert {shown[name] for name in SIZES} == {0}
    assert (shown["mergeable"], shown["maintainer_can_modify"]) == (None, False)
    assert shown["mergeable_state"] == "unknown"
    head = shown["head"]
    assert (head["label"], head["ref"], head["sha"]) == ("", "", "")
    assert (head["user"]["login"], head["repo"]["full_name"]) == ("ghost", "ghost/hello")
    assert shown["base"]["repo"]["full_name"] == "octo/hello"


async def test_later_payloads_change_their_fields_only(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    reported(platform, 2, requested_reviewers=[{"login": "robin"}], **SIZES)
    reported(platform, 2, requested_reviewers=[], commits=4, updated_at="2026-11-20T11:00:00Z")
    shown = (await hub.get(f"{PULLS}/2")).json()
    assert shown["requested_reviewers"] == []
    assert (shown["commits"], shown["additions"]) == (4, 10)


async def test_a_pull_request_shows_its_merge(hub: httpx.AsyncClient, platform: Platform) -> None:
    over = {"merged_at": "2026-11-20T10:30:00Z", "merge_commit_sha": "1" * 40}
    reported(platform, 2, state="closed", merged=True, merged_by={"login": "robin"}, **over)
    shown = (await hub.get(f"{PULLS}/2")).json()
    assert {name: shown[name] for name in over} == over
    assert (shown["merged"], shown["merged_by"]["login"]) == (True, "robin")


async def test_heads_in_other_repositories(
    hub: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    robin = store.write_sync(accounts.create, "robin")
    store.write_sync(repositories.create, robin["id"], "hello")
    hidden = store.write_sync(accounts.create, "hidden")
    store.write_sync(repositories.create, hidden["id"], "hello", private=True)
    private, unknown = {"full_name": "hidden/hello"}, {"full_name": "far/fork"}
    for number, source in ((1, FORK), (2, private), (3, None), (4, unknown)):
        reported(platform, number, head={"ref": "b", "sha": SHA, "repo": source})
    heads = [(await hub.get(f"{PULLS}/{number}")).json()["head"] for number in (1, 2, 3, 4)]
    assert [head["label"] for head in heads] == ["robin:b", "hidden:b", "b", "far:b"]
    assert [head["repo"]["full_name"] for head in heads] == [
        "robin/hello",
        "ghost/hello",
        "ghost/hello",
        "ghost/hello",
    ]
    assert [head["user"]["login"] for head in heads] == ["robin", "hidden", "ghost", "far"]


async def test_heads_are_found_by_former_names(
    hub: httpx.AsyncClient, platform: Platform, store: Store, seed: Any
) -> None:
    hidden = store.write_sync(accounts.create, "hidden")
    vault = store.write_sync(repositories.create, hidden["id"], "topsecret", private=True)
    there = {"full_name": "hidden/topsecret"}
    for number, source in ((1, OWN), (2, there)):
        reported(platform, number, head={"ref": "b", "sha": SHA, "repo": source})
    store.write_sync(repositories.rename, vault, "plans")
    store.write_sync(repositories.rename, seed.hello, "hi")
    own, other = [(await hub.get(f"/repos/octo/hi/pulls/{n}")).json() for n in (1, 2)]
    assert own["head"]["repo"]["id"] == own["base"]["repo"]["id"] == seed.hello["id"]
    assert own["head"]["repo"]["full_name"] == "octo/hi"
    assert "topsecret" not in str(other)
    store.write_sync(lambda db: db.execute("DELETE FROM repository WHERE id = :id", id=vault["id"]))
    assert "topsecret" not in (await hub.get("/repos/octo/hi/pulls")).text


async def test_heads_follow_the_new_name_of_their_repository(
    hub: httpx.AsyncClient, store: Store, platform: Platform
) -> None:
    robin = store.write_sync(accounts.create, "robin")
    fork = store.write_sync(repositories.create, robin["id"], "hello")
    head = {"ref": "b", "sha": SHA, "repo": {"full_name": "Robin/Hello"}}
    reported(platform, 2, head=head)
    store.write_sync(repositories.rename, fork, "hi")
    # Another repository takes the former name.
    store.write_sync(repositories.create, robin["id"], "hello")
    shown = (await hub.get(f"{PULLS}/2")).json()
    assert (shown["head"]["repo"]["full_name"], shown["head"]["label"]) == ("robin/hi", "robin:b")


async def test_an_unknown_fork_does_not_look_like_the_base(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    unknown = {"full_name": "far/fork"}
    reported(platform, 1, head={"ref": "b", "sha": SHA, "repo": unknown})
    shown = (await hub.get(f"{PULLS}/1")).json()
    fork, base = shown["head"]["repo"], shown["base"]["repo"]
    assert (fork["id"], fork["fork"], fork["owner"]["login"]) == (0, True, "ghost")
    assert fork["url"] == f"{BASE}/repos/ghost/hello"
    assert "octo/hello" not in str(fork)
    assert fork.keys() == base.keys() - {"permissions"}


async def test_filters_and_orders(hub: httpx.AsyncClient, platform: Platform) -> None:
    reported(platform, 1, updated_at="2026-11-20T12:00:00Z", comments=2)
    reported(platform, 2, state="closed", comments=1)
    reported(platform, 3, head={"ref": "b1", "sha": SHA, "repo": FORK}, comments=9)
    reported(platform, 4, base={"ref": "next", "sha": SHA, "repo": OWN}, comments=3)
    old = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-11-19T00:00:00Z"}
    reported(platform, 5, **old)
    platform.report("issues", "opened", issue=issue(6))
    for query, expected in (
        ("", [4, 3, 1, 5]),
        ("state=closed", [2]),
        ("state=all&direction=asc", [5, 1, 2, 3, 4]),
        ("head=octo:b1", [1]),
        ("head=ROBIN:b1", [3]),
        ("head=ro:b1", []),
        ("base=next", [4]),
        ("sort=updated&direction=desc", [1, 4, 3, 5]),
        ("sort=updated", [5, 3, 4, 1]),
        ("sort=popularity&direction=desc", [3, 4, 1, 5]),
        ("sort=long-running", [5]),
    ):
        assert await numbers(hub, query) == expected, query
    first = await hub.get(f"{PULLS}?per_page=2")
    assert links(first)["last"].endswith("per_page=2&page=2")
    assert_error(await hub.get(f"{PULLS}?head=b1"), 422)
    assert_error(await hub.get(f"{PULLS}/6"), 404)


async def test_forms_of_its_text(hub: httpx.AsyncClient, platform: Platform) -> None:
    reported(platform, 2, body="**Ring**")
    for at in (PULLS, f"{PULLS}/2"):
        accept = {"Accept": "application/vnd.service.full+json"}
        found = (await hub.get(at, headers=accept)).json()
        one = found[0] if isinstance(found, list) else found
        assert one["body_html"] == "<p><strong>Ring</strong></p>\n"
        assert (one["body"], one["body_text"]) == ("**Ring**", "Ring")
    for param in ("diff", "patch"):
        accept = {"Accept": f"application/vnd.service.{param}"}
        assert_error(await hub.get(f"{PULLS}/2", headers=accept), 406)


async def test_a_deleted_pull_request_is_gone(hub: httpx.AsyncClient, platform: Platform) -> None:
    reported(platform, 2)
    platform.report("issues", "deleted", issue=issue(2))
    assert_error(await hub.get(f"{PULLS}/2"), 410)
    assert await numbers(hub, "state=all") == []
