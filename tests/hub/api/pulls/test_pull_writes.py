"""Writes of pull requests through the API, and the caps on open pull requests."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from time import sleep
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies
from bearer import Headers, bearer, by
from engines import open_prepared
from hub_client import open_client
from issue_world import Platform, issue, pull
from transactions import transaction

from hub.settings import HubSettings
from store import Row, Store
from store.accounts import accounts, sso, tokens
from store.clock import DAY, MovableClock, iso
from store.issues import pull_changes, pulls
from store.repositories import interaction_limits, pull_request_caps, refs, repositories

HELLO = "/repos/octo/hello"
PULLS = f"{HELLO}/pulls"
MAIN, TONE = "1" * 40, "2" * 40
NEW = {"title": "A new tone", "head": "tone", "base": "main"}
FORK = NEW | {"head": "reader:tone"}


@pytest.fixture
async def hub(store: Store, seed: Any, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    """A client with a token of octo. Each response is checked against the contract."""
    branches(store, seed.hello, main=MAIN, tone=TONE)
    async with open_client(store, settings, headers=bearer(seed.token)) as opened:
        yield opened


@pytest.fixture
def reader(store: Store, seed: Any) -> Headers:
    """Headers with a token of reader, who has the repository reader/hello with branches."""
    fork = store.write_sync(repositories.create, seed.reader["id"], "hello")
    made = {f"tone-{number}": f"{number}" * 40 for number in range(3, 8)}
    branches(store, fork, tone="3" * 40, **made)
    return bearer(seed.reader_token)


def branches(store: Store, repo: Row, **found: str) -> None:
    for name, sha in found.items():
        store.write_sync(refs.put, repo["id"], f"refs/heads/{name}", sha)


async def made(hub: httpx.AsyncClient, body: dict[str, Any], **how: Any) -> Any:
    answer = await hub.post(how.pop("at", PULLS), json=body, **how)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_pull_request_is_created_with_head_and_base(
    hub: httpx.AsyncClient, store: Store
) -> None:
    shown = await made(hub, NEW | {"body": "Listen", "draft": True})
    assert (shown["number"], shown["state"], shown["draft"]) == (1, "open", True)
    head, base = shown["head"], shown["base"]
    assert (head["label"], head["sha"]) == ("octo:tone", TONE)
    assert (base["label"], base["sha"]) == ("octo:main", MAIN)
    assert head["repo"]["full_name"] == base["repo"]["full_name"] == "octo/hello"
    assert (shown["mergeable"], shown["mergeable_state"]) == (None, "unknown")
    assert {shown[name] for name in ("commits", "additions", "changed_files")} == {0}
    assert shown["maintainer_can_modify"] is True
    assert (await hub.get(f"{PULLS}/1")).json() == shown
    issue = (await hub.get(f"{HELLO}/issues/1")).json()
    assert issue["pull_request"]["url"] == shown["url"] == f"{BASE}{PULLS}/1"
    (payload,) = bodies(store, "pull_request")
    assert (payload["action"], payload["number"]) == ("opened", 1)
    assert payload["pull_request"]["head"]["sha"] == TONE
    assert (payload["sender"]["login"], payload["repository"]["name"]) == ("octo", "hello")


async def test_a_push_moves_its_head(hub: httpx.AsyncClient, platform: Platform) -> None:
    await made(hub, NEW)
    for after in ("4" * 40, "0" * 40):
        platform.report("push", None, ref="refs/heads/tone", after=after, commits=[])
    assert (await hub.get(f"{PULLS}/1")).json()["head"]["sha"] == "4" * 40


async def test_a_platforms_head_is_moved_by_the_platform(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    ends = {"head": {"ref": "tone", "sha": TONE, "repo": {"full_name": "octo/hello"}}}
    platform.report("pull_request", "opened", pull_request=pull(**ends))
    platform.report("push", None, ref="refs/heads/tone", after="4" * 40, commits=[])
    assert (await hub.get(f"{PULLS}/2")).json()["head"]["sha"] == TONE


async def test_a_pull_request_comes_from_a_fork(hub: httpx.AsyncClient, reader: Headers) -> None:
    shown = await made(hub, FORK, headers=reader)
    assert shown["head"]["label"] == "reader:tone"
    assert shown["head"]["repo"]["full_name"] == "reader/hello"
    assert (shown["user"]["login"], shown["author_association"]) == ("reader", "NONE")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": " "}, "title"),
        ({"head": "other"}, "head"),
        ({"base": "other"}, "base"),
        ({"head": "nobody:tone"}, "head"),
        ({"head": "main"}, "head"),
        ({"head": "octo:tone", "head_repo": "absent"}, "head"),
    ],
)
async def test_invalid_pull_requests_are_rejected(
    hub: httpx.AsyncClient, store: Store, change: dict[str, str], field: str
) -> None:
    content = assert_error(await hub.post(PULLS, json=NEW | change), 422)
    assert [one["field"] for one in content["errors"]] == [field]
    assert bodies(store, "pull_request") == []


async def test_a_second_open_pull_request_of_a_branch_is_refused(
    hub: httpx.AsyncClient, store: Store
) -> None:
    await made(hub, NEW)
    content = assert_error(await hub.post(PULLS, json=NEW | {"head": "octo:tone"}), 422)
    assert "A pull request already exists for octo:tone." in str(content)
    await hub.patch(f"{HELLO}/issues/1", json={"state": "closed"})
    await made(hub, NEW)
    for at in (PULLS, f"{HELLO}/issues"):
        content = assert_error(await hub.patch(f"{at}/1", json={"state": "open"}), 422)
        assert "A pull request already exists for octo:tone." in str(content)
        assert [one["field"] for one in content["errors"]] == ["state"]
    assert [one["number"] for one in (await hub.get(PULLS)).json()] == [2]
    assert (await hub.patch(f"{PULLS}/2", json={"state": "open"})).status_code == 200
    await hub.patch(f"{PULLS}/2", json={"state": "closed"})
    assert (await hub.patch(f"{PULLS}/1", json={"state": "open"})).json()["state"] == "open"


async def test_a_pull_request_follows_the_new_name_of_its_repository(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    await made(hub, NEW)
    repo = store.write_sync(repositories.rename, seed.hello, "hi")
    store.write_sync(repositories.create, seed.octo["id"], "hello")
    content = assert_error(await hub.post("/repos/octo/hi/pulls", json=NEW), 422)
    assert "A pull request already exists for octo:tone." in str(content)
    (found,) = store.read_sync(pulls.of_branch, repo, "tone", most=2)
    assert found["head_repo"] == "octo/hi"
    shown = (await hub.get("/repos/octo/hi/pulls/1")).json()
    assert shown["head"]["repo"] == shown["base"]["repo"]


def test_a_late_payload_has_the_former_name_of_the_repository(
    store: Store, seed: Any, platform: Platform
) -> None:
    repo = store.write_sync(repositories.rename, seed.hello, "hi")
    former = {"repo": {"full_name": "Octo/Hello"}}
    for number, end in ((1, former), (2, {"repo": {"full_name": "robin/hello"}})):
        given = pull(number, head={"ref": "tone", **end}, base={"ref": "main", **former})
        platform.report("pull_request", "opened", number=number, pull_request=given)
    (found,) = store.read_sync(pulls.of_branch, repo, "tone", most=3)
    assert (found["number"], found["head_repo"]) == (1, "octo/hi")


async def test_two_hubs_open_one_pull_request_of_a_branch(
    hub: httpx.AsyncClient,
    store: Store,
    clock: MovableClock,
    settings: HubSettings,
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in (1, 2):
        await made(hub, NEW)
        await hub.patch(f"{PULLS}/{number}", json={"state": "closed"})
    slow = pull_changes.open_between

    def look(*given: Any) -> Row | None:
        found = slow(*given)
        sleep(0.3)
        return found

    monkeypatch.setattr(pull_changes, "open_between", look)
    same = store if store.engine.embedded else open_prepared(url, tmp_path, clock)
    async with open_client(same, settings, headers=dict(hub.headers)) as other:
        reopened = [
            one.patch(f"{PULLS}/{number}", json={"state": "open"})
            for number, one in enumerate((hub, other), 1)
        ]
        answers = await asyncio.gather(*reopened)
        assert sorted(answer.status_code for answer in answers) == [200, 422]
        assert len((await hub.get(PULLS)).json()) == 1


async def test_branches_of_others(
    hub: httpx.AsyncClient, reader: Headers, store: Store, seed: Any
) -> None:
    branches(store, seed.vault, main=MAIN, tone="5" * 40)
    answer = await hub.post(PULLS, json=NEW, headers=reader)
    assert_error(answer, 403, "Must have push access to octo/hello.")
    hidden = NEW | {"head": "octo:tone", "head_repo": "vault"}
    absent = NEW | {"head": "octo:tone", "head_repo": "absent"}
    one, other = [await hub.post(PULLS, json=body, headers=reader) for body in (hidden, absent)]
    assert assert_error(one, 422)["errors"][0]["code"] == "invalid"
    assert one.text.replace("vault", "absent") == other.text


async def test_a_token_needs_access_to_the_repository_of_the_head(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    def token(**given: Any) -> str:
        return str(store.write_sync(tokens.create, seed.octo["id"], **given)[0])

    with transaction(store) as db:
        tower = accounts.create(db, "tower", kind="Organization")
        accounts.join(db, tower["id"], seed.octo["id"], "admin")
        sso.enforce(db, tower["id"], True)
        vault, kit = [seed.vault, repositories.create(db, tower["id"], "kit", private=True)]
    for repo in (vault, kit):
        branches(store, repo, tone="5" * 40)
    narrow = {"kind": "fine_grained", "target_id": seed.octo["id"]}
    writes = {"permissions": {"pull_requests": "write"}}
    both = {"permissions": {"pull_requests": "write", "contents": "read"}}
    for value, owner, name, status in (
        (token(scopes=["public_repo"]), "octo", "vault", 422),
        (token(scopes=["repo"]), "octo", "vault", 201),
        (token(scopes=["repo"]), "tower", "kit", 422),
        (token(**narrow, **writes), "octo", "vault", 422),
        (token(**narrow, **both, repositories=[seed.hello["id"]]), "octo", "vault", 422),
    ):
        body = NEW | {"head": f"{owner}:tone", "head_repo": name}
        answer = await hub.post(PULLS, json=body, headers=bearer(value))
        assert answer.status_code == status, answer.text
        if status == 422:
            missing = f"there is no repository {owner}/{name}"
            assert answer.json()["errors"][0]["message"] == missing


async def test_interaction_limits_hold_pull_requests(
    hub: httpx.AsyncClient, reader: Headers, platform: Platform, store: Store, clock: MovableClock
) -> None:
    repo, ends = platform.world.repo, clock.now() + DAY
    store.write_sync(interaction_limits.limit_repository, repo, "collaborators_only", ends)
    answer = await hub.post(PULLS, json=FORK, headers=reader)
    assert_error(answer, 403)
    assert "collaborators" in answer.json()["message"]
    await made(hub, NEW)


async def test_a_cap_limits_open_pull_requests_except_on_the_bypass_list(
    hub: httpx.AsyncClient, reader: Headers, store: Store, seed: Any
) -> None:
    cap = {"enabled": True, "max_open_pull_requests": 2}
    at = f"{HELLO}/interaction-limits/pulls"
    assert (await hub.patch(f"{at}/creation-cap", json=cap)).status_code == 200
    bodies_of = [FORK | {"head": f"reader:tone-{number}"} for number in range(3, 8)]
    for body in bodies_of[:2]:
        await made(hub, body, headers=reader)
    refused = await hub.post(PULLS, json=bodies_of[2], headers=reader)
    message = "You have reached the limit of open pull requests in this repository: 2."
    assert_error(refused, 403, message)
    # The cap applies to each user separately, and closed pull requests do not count.
    await made(hub, NEW)
    close = {"state": "closed"}
    assert (await hub.patch(f"{HELLO}/issues/1", json=close, headers=reader)).status_code == 200
    await made(hub, bodies_of[2], headers=reader)
    again = await hub.patch(f"{HELLO}/issues/1", json={"state": "open"}, headers=reader)
    assert_error(again, 403, message)
    users = {"users": ["reader"]}
    assert (await hub.put(f"{at}/bypass-list", json=users)).status_code == 204
    await made(hub, bodies_of[3], headers=reader)
    assert (await hub.request("DELETE", f"{at}/bypass-list", json=users)).status_code == 204
    assert_error(await hub.post(PULLS, json=bodies_of[4], headers=reader), 403, message)
    off = await hub.patch(f"{at}/creation-cap", json={"enabled": False})
    assert off.status_code == 200
    await made(hub, bodies_of[4], headers=reader)


async def test_a_cap_of_an_organization_covers_its_public_repositories(
    hub: httpx.AsyncClient, store: Store
) -> None:
    """The cap applies to the sum of all public repositories. Private repositories do not count."""
    org = store.write_sync(accounts.create, "tower", kind="Organization")
    ringer = store.write_sync(accounts.create, "ringer")
    store.write_sync(pull_request_caps.put, "organization", org["id"], enabled=True, most=1)
    for name, private in (("bell", False), ("rope", False), ("loft", True)):
        repo = store.write_sync(repositories.create, org["id"], name, private=private)
        store.write_sync(repositories.grant, repo["id"], ringer["id"], "write")
        branches(store, repo, main=MAIN, tone=TONE)
    headers = by(store, ringer, scopes=["repo"])
    for name in ("loft", "bell"):
        await made(hub, NEW, at=f"/repos/tower/{name}/pulls", headers=headers)
    refused = await hub.post("/repos/tower/rope/pulls", json=NEW, headers=headers)
    message = "You have reached the limit of open pull requests in this organization: 1."
    assert_error(refused, 403, message)


async def test_merged_pull_requests_stay_closed(hub: httpx.AsyncClient, platform: Platform) -> None:
    over = {"state": "closed", "merged": True, "merged_at": "2026-11-20T10:00:00Z"}
    platform.report("pull_request", "closed", pull_request=pull(2, **over))
    answer = await hub.patch(f"{HELLO}/issues/2", json={"state": "open"})
    (error,) = assert_error(answer, 422)["errors"]
    assert (error["resource"], error["field"]) == ("PullRequest", "state")


async def test_title_text_and_state_can_be_changed(hub: httpx.AsyncClient, store: Store) -> None:
    await made(hub, NEW)
    change = {"title": "Another tone", "body": "Hark", "state": "closed", "base": "main"}
    answer = await hub.patch(f"{PULLS}/1", json=change | {"maintainer_can_modify": False})
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert {name: shown[name] for name in ("title", "body", "state")} == {
        "title": "Another tone",
        "body": "Hark",
        "state": "closed",
    }
    assert shown["maintainer_can_modify"] is False
    assert (await hub.get(f"{PULLS}/1")).json() == shown
    _, edited, closed = bodies(store, "pull_request")
    assert (edited["action"], closed["action"]) == ("edited", "closed")
    assert edited["changes"] == {
        "title": {"from": "A new tone"},
        "body": {"from": ""},
        "maintainer_can_modify": {"from": True},
    }
    again = await hub.patch(f"{PULLS}/1", json={"state": "open"})
    assert again.json()["state"] == "open"


async def test_a_change_of_the_right_to_modify_it_is_an_event(
    hub: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    await made(hub, NEW)
    clock.advance(60)
    for _ in range(2):
        answer = await hub.patch(f"{PULLS}/1", json={"maintainer_can_modify": False})
    _, edited = bodies(store, "pull_request")
    assert edited["action"] == "edited"
    for shown in (answer.json(), edited["pull_request"]):
        assert (shown["maintainer_can_modify"], shown["updated_at"]) == (False, iso(clock.now()))


async def test_an_earlier_event_leaves_the_head_closed_to_maintainers(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    earlier = pull(2, maintainer_can_modify=True, draft=True)
    platform.report("pull_request", "opened", pull_request=pull(2, maintainer_can_modify=True))
    answer = await hub.patch(f"{PULLS}/2", json={"maintainer_can_modify": False})
    assert answer.status_code == 200, answer.text
    platform.report("pull_request", "converted_to_draft", pull_request=earlier)
    shown = (await hub.get(f"{PULLS}/2")).json()
    assert (shown["maintainer_can_modify"], shown["draft"]) == (False, True)


async def test_a_pull_request_without_known_branches_stays_closed_to_maintainers(
    hub: httpx.AsyncClient, store: Store, platform: Platform
) -> None:
    known = issue(9, pull_request={"url": "x"})
    platform.report("issues", "edited", issue=known)
    answer = await hub.patch(f"{PULLS}/9", json={"title": "x", "maintainer_can_modify": True})
    (error,) = assert_error(answer, 422)["errors"]
    assert error["field"] == "maintainer_can_modify"
    assert platform.issue(9)["title"] == known["title"]
    assert bodies(store, "pull_request") == []


async def test_an_unusable_base_is_refused(hub: httpx.AsyncClient) -> None:
    await made(hub, NEW)
    assert_error(await hub.patch(f"{PULLS}/1", json={"base": "tone"}), 422)


async def test_pull_requests_are_changed_by_their_authors_only(
    hub: httpx.AsyncClient, reader: Headers
) -> None:
    await made(hub, NEW)
    at = f"{PULLS}/1"
    assert_error(await hub.patch(at, json={"title": "Mine"}, headers=reader), 403)
    await made(hub, FORK, headers=reader)
    mine = await hub.patch(f"{PULLS}/2", json={"title": "Mine"}, headers=reader)
    assert (mine.status_code, mine.json()["title"]) == (200, "Mine")


async def test_an_edit_is_answered_in_the_form_that_was_asked_for(hub: httpx.AsyncClient) -> None:
    headers = {"Accept": "application/vnd.service.html+json"}
    answer = await hub.post(PULLS, json=NEW, headers=headers)
    assert (answer.status_code, "body_html" in answer.json()) == (201, True)
    answer = await hub.patch(f"{PULLS}/1", json={"body": "*Hark*"}, headers=headers)
    assert "<em>Hark</em>" in answer.json()["body_html"]
