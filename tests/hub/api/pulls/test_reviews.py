"""Reviews, comments on lines, and requested reviewers, as events reported them."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, by_id, links
from issue_world import OCTO, SHA, Platform, issue, pull

HELLO = "/repos/octo/hello"
PULLS = f"{HELLO}/pulls"


def review(number: int, **changed: Any) -> dict[str, Any]:
    given = {
        "id": number,
        "user": {"login": "amy"},
        "body": "Looks *good*",
        "commit_id": SHA,
        "submitted_at": f"2026-11-20T10:00:{number:02}Z",
        "state": "changes_requested",
        "author_association": "MEMBER",
    }
    return given | changed


def line(number: int, **changed: Any) -> dict[str, Any]:
    at = f"2026-11-20T10:01:{number:02}Z"
    given = {
        "id": number,
        "user": {"login": "amy"},
        "body": "*Typo*",
        "path": "README.md",
        "diff_hunk": "@@ -1 +1 @@",
        "line": number,
        "side": "RIGHT",
        "commit_id": SHA,
        "pull_request_review_id": 1,
        "created_at": at,
        "updated_at": at,
    }
    return given | changed


def reviewed(platform: Platform, number: int, on: int = 2, **changed: Any) -> None:
    """Report a review of the pull request `on`."""
    given = review(number, **changed)
    platform.report("pull_request_review", "submitted", pull_request=pull(on), review=given)


def commented(platform: Platform, number: int, on: int = 2, **changed: Any) -> None:
    """Report a comment on a line of the pull request `on`."""
    given = line(number, **changed)
    platform.report("pull_request_review_comment", "created", pull_request=pull(on), comment=given)


async def ids(hub: httpx.AsyncClient, path: str) -> list[int]:
    answer = await hub.get(path)
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json()]


async def test_reviews_of_a_pull_request_are_listed(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    for number in (1, 2, 3):
        reviewed(platform, number, body=None if number == 2 else "Hm")
    reviewed(platform, 9, 4)
    at = f"{PULLS}/2/reviews"
    answer = await hub.get(f"{at}?per_page=2")
    assert [one["id"] for one in answer.json()] == [1, 2]
    assert [one["body"] for one in answer.json()] == ["Hm", ""]
    assert links(answer)["last"] == f"{by_id(at)}?per_page=2&page=2"
    shown = answer.json()[0]
    assert (shown["state"], shown["user"]["login"]) == ("CHANGES_REQUESTED", "amy")
    assert (shown["commit_id"], shown["author_association"]) == (SHA, "MEMBER")
    assert shown["submitted_at"] == "2026-11-20T10:00:01Z"
    assert shown["pull_request_url"] == f"{BASE}{PULLS}/2"
    assert (await hub.get(f"{at}/1")).json() == shown
    for other in ("77", "9"):
        assert_error(await hub.get(f"{at}/{other}"), 404)
    assert await ids(hub, f"{PULLS}/4/reviews") == [9]


async def test_a_dismissed_review_says_so(hub: httpx.AsyncClient, platform: Platform) -> None:
    reviewed(platform, 1)
    over = review(1, state="dismissed")
    platform.report("pull_request_review", "dismissed", pull_request=pull(), review=over)
    assert (await hub.get(f"{PULLS}/2/reviews/1")).json()["state"] == "DISMISSED"


async def test_comments_on_lines_are_listed(hub: httpx.AsyncClient, platform: Platform) -> None:
    for number in (5, 6, 7):
        commented(platform, number)
    commented(platform, 8, 4)
    assert await ids(hub, f"{PULLS}/2/comments") == [5, 6, 7]
    assert await ids(hub, f"{PULLS}/comments") == [5, 6, 7, 8]
    answer = await hub.get(f"{PULLS}/comments?per_page=3&page=2")
    (shown,) = answer.json()
    assert shown["pull_request_url"] == f"{BASE}{PULLS}/4"
    assert shown["url"] == f"{BASE}{PULLS}/comments/8"
    assert (shown["path"], shown["line"], shown["body"]) == ("README.md", 8, "*Typo*")
    assert shown["pull_request_review_id"] == 1
    assert (shown["position"], shown["original_position"]) == (None, None)
    assert (await hub.get(f"{PULLS}/comments/8")).json() == shown
    assert_error(await hub.get(f"{PULLS}/comments/77"), 404)
    platform.report("pull_request_review_comment", "deleted", pull_request=pull(4), comment=line(8))
    assert await ids(hub, f"{PULLS}/comments") == [5, 6, 7]
    assert_error(await hub.get(f"{PULLS}/comments/8"), 404)


async def test_a_review_has_its_own_comments_on_lines(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    for number in (1, 2):
        reviewed(platform, number)
    commented(platform, 5)
    commented(platform, 6, pull_request_review_id=2)
    commented(platform, 7)
    commented(platform, 8, pull_request_review_id=None)
    assert await ids(hub, f"{PULLS}/2/reviews/1/comments") == [5, 7]
    assert await ids(hub, f"{PULLS}/2/reviews/2/comments?per_page=1") == [6]
    assert await ids(hub, f"{PULLS}/2/comments") == [5, 6, 7, 8]
    for review_id in ("77", "5"):
        assert_error(await hub.get(f"{PULLS}/2/reviews/{review_id}/comments"), 404)


@pytest.mark.parametrize("path", [f"{PULLS}/comments", f"{PULLS}/2/comments"])
async def test_comments_have_orders_and_a_filter(
    hub: httpx.AsyncClient, platform: Platform, path: str
) -> None:
    commented(platform, 5)
    commented(platform, 6, created_at="2026-11-20T09:00:00Z")
    commented(platform, 7, updated_at="2026-11-20T09:30:00Z")
    assert await ids(hub, f"{path}?direction=desc") == [5, 6, 7]
    assert await ids(hub, f"{path}?sort=created") == [6, 5, 7]
    assert await ids(hub, f"{path}?sort=created&direction=desc") == [7, 5, 6]
    assert await ids(hub, f"{path}?sort=updated&direction=asc") == [7, 5, 6]
    assert await ids(hub, f"{path}?sort=updated&direction=desc&per_page=1") == [6]
    assert await ids(hub, f"{path}?since=2026-11-20T10:01:06Z") == [6]
    assert_error(await hub.get(f"{path}?sort=size"), 422)
    assert_error(await hub.get(f"{path}?since=soon"), 422)


@pytest.mark.parametrize(
    ("form", "members"),
    [
        ("raw", {"body": "*Typo*"}),
        ("text", {"body_text": "Typo"}),
        ("html", {"body_html": "<p><em>Typo</em></p>\n"}),
    ],
)
async def test_comments_and_reviews_have_forms(
    hub: httpx.AsyncClient, platform: Platform, form: str, members: dict[str, str]
) -> None:
    commented(platform, 5)
    reviewed(platform, 1, body="*Typo*")
    headers = {"Accept": f"application/vnd.service.{form}+json"}
    for path in (f"{PULLS}/comments/5", f"{PULLS}/2/reviews/1"):
        shown = (await hub.get(path, headers=headers)).json()
        found = {name: shown[name] for name in shown if name.startswith("body")}
        assert found == members


async def test_comments_of_a_repository_leave_out_issues_that_are_gone(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    for number in (1, 3):
        said = {"id": 90 + number, "body": "Hm", "user": OCTO}
        platform.report("issue_comment", "created", issue=issue(number), comment=said)
    path = f"{HELLO}/issues/comments"
    assert await ids(hub, path) == [91, 93]
    (first, second) = (await hub.get(path)).json()
    assert first == (await hub.get(f"{path}/91")).json()
    assert second["issue_url"] == f"{BASE}{HELLO}/issues/3"
    platform.report("issues", "deleted", issue=issue(1))
    assert await ids(hub, path) == [93]
    assert await ids(hub, f"{path}?sort=updated&direction=desc") == [93]
    # Comments on lines and reviews are in lists of their own.
    commented(platform, 5)
    reviewed(platform, 1)
    assert await ids(hub, path) == [93]


async def test_requested_reviewers(hub: httpx.AsyncClient, platform: Platform) -> None:
    at = f"{PULLS}/2/requested_reviewers"
    team = {"id": 3, "name": "Choir", "slug": "choir"}
    secret = {"id": 4, "name": "Vestry", "slug": "vestry", "privacy": "secret"}
    asked = pull(requested_reviewers=[{"login": "amy"}], requested_teams=[team, secret])
    platform.report("pull_request", "review_requested", pull_request=asked)
    found = (await hub.get(at)).json()
    assert [one["login"] for one in found["users"]] == ["amy"]
    assert [one["slug"] for one in found["teams"]] == ["choir"]
    none = pull(requested_reviewers=[], requested_teams=[], updated_at="2026-11-20T11:00:00Z")
    platform.report("pull_request", "review_request_removed", pull_request=none)
    assert (await hub.get(at)).json() == {"users": [], "teams": []}


async def test_only_pull_requests_have_reviews(hub: httpx.AsyncClient, platform: Platform) -> None:
    platform.report("issues", "opened", issue=issue())
    for rest in ("reviews", "comments", "requested_reviewers", "merge"):
        assert_error(await hub.get(f"{PULLS}/1/{rest}"), 404)


async def test_a_private_repository_hides_reviews(hub: httpx.AsyncClient, seed: Any) -> None:
    for rest in ("pulls/comments", "issues/comments", "pulls/2/reviews", "pulls/2/comments"):
        assert_error(await hub.get(f"/repos/octo/vault/{rest}"), 404)


async def test_a_merge_is_checked(hub: httpx.AsyncClient, platform: Platform) -> None:
    platform.report("pull_request", "opened", pull_request=pull())
    at = f"{PULLS}/2/merge"
    assert_error(await hub.get(at), 404)
    closed = {"state": "closed", "updated_at": "2026-11-20T11:00:00Z"}
    platform.report("pull_request", "closed", pull_request=pull(**closed))
    assert_error(await hub.get(at), 404)
    merged = closed | {"merged": True, "merged_at": "2026-11-20T11:00:00Z"}
    platform.report("pull_request", "closed", pull_request=pull(**merged))
    answer = await hub.get(at)
    assert (answer.status_code, answer.content) == (204, b"")
