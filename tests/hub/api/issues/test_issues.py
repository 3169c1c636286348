"""Reads of issues, comments, labels, and milestones that events of a platform reported."""

from typing import Any

import httpx
import pytest
from assertions import assert_error, by_id, links
from bearer import Headers, by
from issue_world import Platform, issue, pull
from store_world import World

from store import Store
from store.accounts import accounts, memberships
from store.clock import MovableClock
from store.issues import issue_field_values, issue_fields
from store.issues.issue_field_values import FieldAssignment
from store.repositories import repositories

HELLO, VAULT = "/repos/octo/hello", "/repos/octo/vault"
ISSUES = f"{HELLO}/issues"
MARKDOWN = "It is **wrong**"
FORMS = {
    "raw": {"body": MARKDOWN},
    "text": {"body_text": "It is wrong"},
    "html": {"body_html": "<p>It is <strong>wrong</strong></p>\n"},
}
FORMS["full"] = FORMS["raw"] | FORMS["text"] | FORMS["html"]
BODIES = ("body", "body_text", "body_html")


def reported(platform: Platform, number: int, **changed: Any) -> None:
    """Report a new issue. `number` is also the minute at which it was created."""
    minute = f"2026-11-20T10:{number:02}:00Z"
    times = {"created_at": minute, "updated_at": minute}
    platform.report("issues", "opened", issue=issue(number, **times | changed))


async def numbers(hub: httpx.AsyncClient, query: str = "", at: str = ISSUES) -> list[int]:
    answer = await hub.get(f"{at}?{query}")
    assert answer.status_code == 200, answer.text
    return [one["number"] for one in answer.json()]


async def test_the_open_issues_newest_first(hub: httpx.AsyncClient, platform: Platform) -> None:
    reported(platform, 1)
    reported(platform, 2, state="closed")
    reported(platform, 3)
    platform.report("pull_request", "opened", pull_request=pull(4))
    assert await numbers(hub) == [3, 1, 4]
    assert await numbers(hub, "state=closed") == [2]
    assert await numbers(hub, "state=all&direction=asc") == [4, 1, 2, 3]
    pulls = [one["number"] for one in (await hub.get(ISSUES)).json() if "pull_request" in one]
    assert pulls == [4]


async def test_issues_are_listed_in_each_order(hub: httpx.AsyncClient, platform: Platform) -> None:
    reported(platform, 1, updated_at="2026-11-20T12:00:00Z", comments=1)
    reported(platform, 2, comments=5)
    reported(platform, 3, comments=3)
    assert await numbers(hub, "sort=updated") == [1, 3, 2]
    assert await numbers(hub, "sort=comments") == [2, 3, 1]
    assert await numbers(hub, "sort=comments&direction=asc") == [1, 3, 2]
    assert await numbers(hub, "since=2026-11-20T10:03:00Z") == [3, 1]


async def test_issues_are_filtered(hub: httpx.AsyncClient, platform: Platform, seed: Any) -> None:
    due = {"number": 3, "title": "v1.0", "state": "open"}
    bug = {"id": 5, "name": "Bug", "description": "Wrong", "color": "red"}
    reported(platform, 1, labels=[{"name": "Red"}, {"name": "big"}], milestone=due)
    reported(platform, 2, labels=[{"name": "red"}], assignees=[{"login": "octo"}], type=bug)
    reported(platform, 3, user={"login": "Robin"}, body="@reader, look")
    for query, expected in (
        ("labels=RED", [2, 1]),
        ("labels=red,big", [1]),
        ("labels=red,none-such", []),
        ("milestone=3", [1]),
        ("milestone=4", []),
        ("milestone=*", [1]),
        ("milestone=none", [3, 2]),
        ("assignee=OCTO", [2]),
        ("assignee=*", [2]),
        ("assignee=none", [3, 1]),
        ("assignee=stranger", []),
        ("creator=robin", [3]),
        ("creator=stranger", []),
        ("mentioned=reader", [3]),
        ("type=bug", [2]),
        ("type=*", [2]),
        ("type=none", [3, 1]),
    ):
        assert await numbers(hub, query) == expected, query


async def test_an_issue_shows_its_type(hub: httpx.AsyncClient, platform: Platform) -> None:
    bug = {"id": 5, "name": "Bug", "description": "Wrong", "color": "red"}
    reported(platform, 1, type=bug)
    shown = (await hub.get(f"{ISSUES}/1")).json()["type"]
    assert shown.pop("node_id")
    assert shown == bug
    reported(platform, 1, type=None)
    assert "type" not in (await hub.get(f"{ISSUES}/1")).json()


async def test_values_of_fields_that_everybody_may_see(
    hub: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    org = store.write_sync(accounts.create, "tower", kind="Organization")
    repo = store.write_sync(repositories.create, org["id"], "bell")
    platform = Platform(World(store, clock, {}, repo))
    made = [
        store.write_sync(issue_fields.create, org["id"], name, "text", visibility=visibility)
        for name, visibility in (("Place", "all"), ("Price", "organization_members_only"))
    ]
    for number, place in enumerate(("No. 1", "No. 2", "Überlingen"), 1):
        reported(platform, number)
        values = {field["id"]: FieldAssignment(place) for field in made}
        store.write_sync(issue_field_values.fill, platform.issue(number), values)
    at = "/repos/tower/bell/issues"
    assert await numbers(hub, "issue_field_values=place:no. 2", at) == [2]
    assert await numbers(hub, "issue_field_values=Place:No. 2,Place:No. 1", at) == []
    assert await numbers(hub, "issue_field_values=Price:No. 2", at) == []
    for spelled in ("Überlingen", "ÜBERLINGEN", "Überlingen "):
        assert await numbers(hub, f"issue_field_values=Place:{spelled}", at) == [3]
    assert_error(await hub.get(f"{at}?issue_field_values=Place"), 422)


@pytest.mark.parametrize(
    "query", ["milestone=first", "state=some", "sort=size", "since=yesterday", "direction=up"]
)
async def test_a_wrong_filter_is_refused(hub: httpx.AsyncClient, query: str) -> None:
    assert_error(await hub.get(f"{ISSUES}?{query}"), 422)


async def test_too_many_labels(hub: httpx.AsyncClient) -> None:
    assert_error(await hub.get(f"{ISSUES}?labels={','.join(map(str, range(101)))}"), 422)


async def test_issues_are_listed_in_pages(hub: httpx.AsyncClient, platform: Platform) -> None:
    for number in range(1, 6):
        reported(platform, number)
    answer = await hub.get(f"{ISSUES}?state=all&per_page=2")
    assert [one["number"] for one in answer.json()] == [5, 4]
    assert links(answer) == {
        "next": f"{by_id(ISSUES)}?state=all&per_page=2&page=2",
        "last": f"{by_id(ISSUES)}?state=all&per_page=2&page=3",
    }


async def test_deleted_and_transferred_issues_are_not_shown(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    reported(platform, 1)
    said = {"id": 9, "body": "Hm", "user": {"login": "robin"}}
    for number in (2, 3):
        reported(platform, number)
        platform.report(
            "issue_comment", "created", issue=issue(number), comment=said | {"id": number}
        )
    platform.report("issues", "deleted", issue=issue(2))
    changes = {"new_repository": {"full_name": "octo/vault"}, "new_issue": {"number": 9}}
    platform.report("issues", "transferred", issue=issue(3), changes=changes)
    assert await numbers(hub, "state=all") == [1]
    for at in (f"{ISSUES}/2", f"{ISSUES}/2/comments", f"{ISSUES}/2/labels"):
        assert_error(await hub.get(at), 410)
    # Issue 3 was transferred to a private repository.
    assert_error(await hub.get(f"{ISSUES}/3"), 404)
    for number in (2, 3):
        assert_error(await hub.get(f"{ISSUES}/comments/{number}"), 404)


@pytest.mark.parametrize("form", FORMS)
async def test_forms_of_texts(hub: httpx.AsyncClient, platform: Platform, form: str) -> None:
    reported(platform, 1, body=MARKDOWN)
    said = {"id": 9, "body": MARKDOWN, "user": {"login": "robin"}}
    platform.report("issue_comment", "created", issue=issue(body=MARKDOWN), comment=said)
    headers = {"Accept": f"application/vnd.service.{form}+json"}
    for at in (ISSUES, f"{ISSUES}/1", f"{ISSUES}/1/comments", f"{ISSUES}/comments/9"):
        answer = await hub.get(at, headers=headers)
        kind = answer.headers["Content-Type"]
        assert kind == f"application/vnd.service.{form}+json; charset=utf-8"
        found = answer.json()
        one = found[0] if isinstance(found, list) else found
        assert {name: one[name] for name in BODIES if name in one} == FORMS[form]
        again = await hub.get(at, headers={**headers, "If-None-Match": answer.headers["ETag"]})
        assert again.status_code == 304


async def test_texts_beyond_the_limit_of_an_answer_are_not_rendered(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    for number in range(1, 5):
        reported(platform, number, body="*a* " + "b" * 200_000)
    headers = {"Accept": "application/vnd.service.html+json"}
    shown = [one["body_html"] for one in (await hub.get(ISSUES, headers=headers)).json()]
    assert [html.startswith("<p><em>a</em>") for html in shown] == [True, True, False, False]
    assert shown[-1].startswith("<pre>*a*")


async def test_comments_of_an_issue_are_listed(hub: httpx.AsyncClient, platform: Platform) -> None:
    reported(platform, 1)
    for number in (12, 11):
        said = {
            "id": number,
            "body": f"No. {number}",
            "user": {"login": "robin"},
            "created_at": "2026-11-20T10:00:00Z",
            "updated_at": f"2026-11-20T10:{number}:00Z",
            "author_association": "MEMBER",
        }
        platform.report("issue_comment", "created", issue=issue(), comment=said)
    at = f"{ISSUES}/1/comments"
    found = (await hub.get(at)).json()
    assert [one["id"] for one in found] == [11, 12]
    assert found[0] == (await hub.get(f"{ISSUES}/comments/11")).json()
    assert found[0]["html_url"].endswith("/octo/hello/issues/1#issuecomment-11")
    later = (await hub.get(f"{at}?since=2026-11-20T10:12:00Z")).json()
    assert [one["id"] for one in later] == [12]
    second = await hub.get(f"{at}?per_page=1&page=2")
    assert [one["id"] for one in second.json()] == [12]
    assert links(second)["first"] == f"{by_id(at)}?per_page=1&page=1"


async def test_labels_are_listed(hub: httpx.AsyncClient, platform: Platform) -> None:
    bug = {"id": 7, "name": "Bug", "color": "D73A4A", "description": "Wrong", "default": True}
    reported(platform, 1, labels=[bug, {"name": "area/bell"}])
    platform.report("label", "created", label={"name": "zinc", "color": "ededed"})
    found = (await hub.get(f"{HELLO}/labels")).json()
    assert [one["name"] for one in found] == ["area/bell", "Bug", "zinc"]
    on_issue = (await hub.get(f"{ISSUES}/1/labels")).json()
    assert on_issue == found[:2]
    assert (await hub.get(f"{HELLO}/labels/bUG")).json() == found[1]
    for name in ("area%2Fbell", "area/bell"):
        assert (await hub.get(f"{HELLO}/labels/{name}")).json() == found[0]
    assert found[1]["color"] == "d73a4a"
    assert found[1]["archived_at"] is found[1]["archived_by"] is None
    assert_error(await hub.get(f"{HELLO}/labels/other"), 404)


async def test_milestones_are_listed(hub: httpx.AsyncClient, platform: Platform) -> None:
    for number, state, due, done in (
        (1, "open", None, 1),
        (2, "open", "2027-01-02T00:00:00Z", 3),
        (3, "open", "2027-01-01T00:00:00Z", 2),
        (4, "closed", None, 4),
    ):
        counts = {"open_issues": 4 - done, "closed_issues": done}
        given = {"number": number, "title": f"v{number}", "state": state, "due_on": due, **counts}
        platform.report("milestone", "created", milestone=given)
    at = f"{HELLO}/milestones"
    for query, expected in (
        ("", [3, 2, 1]),
        ("direction=desc", [1, 2, 3]),
        ("state=closed", [4]),
        ("state=all&sort=completeness", [1, 3, 2, 4]),
        ("sort=completeness&direction=desc", [2, 3, 1]),
    ):
        assert await numbers(hub, query, at) == expected, query
    assert (await hub.get(f"{at}/4")).json()["closed_issues"] == 4
    assert_error(await hub.get(f"{at}/5"), 404)


async def test_only_members_and_writers_can_be_assigned(
    hub: httpx.AsyncClient, store: Store
) -> None:
    org = store.write_sync(accounts.create, "tower", kind="Organization")
    repo = store.write_sync(repositories.create, org["id"], "bell")
    people = {
        login: store.write_sync(accounts.create, login)
        for login in ("writer", "member", "guest", "stranger")
    }
    store.write_sync(accounts.join, org["id"], people["member"]["id"], "member")
    store.write_sync(memberships.publicize, org["id"], people["member"]["id"], True)
    store.write_sync(repositories.grant, repo["id"], people["writer"]["id"], "maintain")
    store.write_sync(repositories.grant, repo["id"], people["guest"]["id"], "triage")
    found = (await hub.get("/repos/tower/bell/assignees")).json()
    assert [one["login"] for one in found] == ["member", "writer"]
    own = (await hub.get(f"{HELLO}/assignees")).json()
    assert [one["login"] for one in own] == ["octo"]


async def test_one_user_can_be_assigned_and_another_cannot(
    hub: httpx.AsyncClient, seed: Any, octo: Headers, reader: Headers
) -> None:
    at = "/repos/octo/hello/assignees"
    answer = await hub.get(f"{at}/OCTO")
    assert (answer.status_code, answer.content) == (204, b"")
    for login in ("reader", "nobody"):
        assert_error(await hub.get(f"{at}/{login}"), 404, "Not Found")
    private = "/repos/octo/vault/assignees/octo"
    assert (await hub.get(private, headers=octo)).status_code == 204
    assert_error(await hub.get(private, headers=reader), 404)


async def test_only_insiders_see_concealed_members_among_the_assignees(
    hub: httpx.AsyncClient, store: Store
) -> None:
    org = store.write_sync(accounts.create, "tower", kind="Organization")
    repo = store.write_sync(repositories.create, org["id"], "bell")
    logins = ("concealed", "known", "stranger", "triager")
    people = {login: store.write_sync(accounts.create, login) for login in logins}
    for login in ("concealed", "known"):
        store.write_sync(accounts.join, org["id"], people[login]["id"], "member")
    store.write_sync(memberships.publicize, org["id"], people["known"]["id"], True)
    store.write_sync(repositories.grant, repo["id"], people["triager"]["id"], "triage")

    async def listed(login: str, *scopes: str) -> list[str]:
        headers = by(store, people[login], scopes=[*scopes]) if login else {}
        answer = await hub.get("/repos/tower/bell/assignees?per_page=1", headers=headers)
        check = await hub.get("/repos/tower/bell/assignees/Concealed", headers=headers)
        found = [one["login"] for one in answer.json()]
        assert check.status_code == (204 if "concealed" in found else 404)
        return [*found, *links(answer)]

    for outsider in (("",), ("stranger", "repo", "read:org"), ("known", "repo"), ("triager",)):
        assert await listed(*outsider) == ["known"], outsider
    for insider in (("known", "read:org"), ("triager", "public_repo")):
        assert await listed(*insider) == ["concealed", "next", "last"], insider
