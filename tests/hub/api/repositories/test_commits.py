"""Single commits, as pushes and check suites describe them."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error
from hub_client import anonymously
from platform_events import HEAD_COMMIT, report

from store import Store
from store.checks import commit_statuses

HELLO = "/repos/octo/hello"
SHA, TREE = HEAD_COMMIT["id"], HEAD_COMMIT["tree_id"]
TAG, OTHER = "b" * 40, "d" * 40


@pytest.fixture(autouse=True)
def pushed(store: Store, seed: Any) -> None:
    """`SHA` is the commit of two branches, of a tag, and of an annotated tag with the SHA `TAG`."""
    names = {"heads/main": SHA, "heads/feature/oil": SHA, "tags/v1": SHA, "tags/v2": TAG}
    for name, after in names.items():
        report(store, seed.hello, "push", ref=f"refs/{name}", after=after, head_commit=HEAD_COMMIT)


async def test_a_commit_is_shown_as_the_push_described_it(client: httpx.AsyncClient) -> None:
    commit = (await client.get(f"{HELLO}/commits/{SHA}")).json()
    url = f"{BASE}{HELLO}/commits/{SHA}"
    assert (commit["sha"], commit["url"], commit["comments_url"]) == (SHA, url, f"{url}/comments")
    assert (commit["author"]["login"], commit["committer"]) == ("octo", None)
    inner = commit["commit"]
    assert (inner["message"], inner["tree"]["sha"]) == ("Oil the tenor", TREE)
    assert (inner["author"]["date"], inner["committer"]["name"]) == ("2026-11-20T09:00:00Z", "Ann")
    assert (commit["parents"], commit["files"], commit["stats"]) == ([], [], {})
    branch = (await client.get(f"{HELLO}/branches/main")).json()
    assert commit == branch["commit"] | {"files": [], "stats": {}}


@pytest.mark.parametrize(
    "ref",
    [
        *(SHA.upper(), "HEAD", "main", "heads/main", "refs%2Fheads%2Fmain"),
        *("feature/oil", "feature%2Foil", "heads/feature/oil", "v1", "v2", "tags/v2"),
    ],
)
async def test_a_commit_is_found_by_its_names(client: httpx.AsyncClient, ref: str) -> None:
    commit = (await client.get(f"{HELLO}/commits/{ref}")).json()
    assert (commit["sha"], commit["commit"]["message"]) == (SHA, "Oil the tenor")
    # An annotated tag has the SHA of its own object, but the statuses are the commit's.
    assert (await client.get(f"{HELLO}/commits/{ref}/status")).json()["sha"] == SHA
    assert (await client.get(f"{HELLO}/commits/{ref}/comments")).json() == []


async def test_an_annotated_tag_keeps_the_description_of_its_commit(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    for name in ("heads/main", "heads/feature/oil", "tags/v1"):
        report(store, seed.hello, "push", ref=f"refs/{name}", after=OTHER, head_commit=None)
    commit = (await client.get(f"{HELLO}/commits/v2")).json()
    assert (commit["sha"], commit["commit"]["message"]) == (SHA, "Oil the tenor")


@pytest.mark.parametrize("ref", ["nothing", SHA[:7], "heads/v1", f"{SHA}/files"])
async def test_an_unknown_name_is_refused(client: httpx.AsyncClient, ref: str) -> None:
    answer = await client.get(f"{HELLO}/commits/{ref}")
    assert_error(answer, 422, f"No commit found for SHA: {ref}")


async def test_a_check_suite_describes_a_commit(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    suite = {
        "id": 7,
        "head_sha": OTHER,
        "status": "queued",
        "head_commit": HEAD_COMMIT | {"id": OTHER},
    }
    report(store, seed.hello, "check_suite.requested", check_suite=suite)
    commit = (await client.get(f"{HELLO}/commits/{OTHER}")).json()
    assert (commit["sha"], commit["commit"]["message"]) == (OTHER, "Oil the tenor")


@pytest.mark.parametrize("forge", ["forgejo", "gogs"])
async def test_a_push_of_a_forge_without_trees_describes_its_commit(
    client: httpx.AsyncClient, store: Store, seed: Any, forge: str
) -> None:
    """Commits of Forgejo, Gitea and Gogs have no `tree_id`, and pushes of Gogs no `head_commit`."""
    commit = {name: value for name, value in HEAD_COMMIT.items() if name != "tree_id"}
    newest, older = commit | {"id": OTHER}, commit | {"id": TAG, "message": "Buy oil"}
    said = {"head_commit": newest} if forge == "forgejo" else {"commits": [newest, older]}
    report(store, seed.hello, "push", ref="refs/heads/main", after=OTHER, **said)
    shown = (await client.get(f"{HELLO}/commits/main")).json()
    assert (shown["sha"], shown["author"]["login"]) == (OTHER, "octo")
    inner = shown["commit"]
    assert (inner["message"], inner["author"]["name"]) == ("Oil the tenor", "Octo")
    assert inner["tree"]["sha"] == ""


@pytest.mark.parametrize("commits", [None, "many", [None], [{"id": TAG}], [{"id": OTHER}]])
async def test_a_push_without_its_newest_commit_describes_none(
    client: httpx.AsyncClient, store: Store, seed: Any, commits: Any
) -> None:
    report(store, seed.hello, "push", ref="refs/heads/main", after=OTHER, commits=commits)
    shown = (await client.get(f"{HELLO}/commits/main")).json()
    assert (shown["sha"], shown["commit"]["message"]) == (OTHER, "")


async def test_a_commit_of_which_only_a_status_is_known_is_empty(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    said = {"state": "success", "context": "ci", "description": None, "target_url": None}
    store.write_sync(commit_statuses.create, seed.hello["id"], OTHER, seed.octo["id"], said)
    combined = (await client.get(f"{HELLO}/commits/{OTHER}/status")).json()
    commit = (await client.get(combined["commit_url"])).json()
    assert (commit["sha"], commit["url"]) == (OTHER, combined["commit_url"])
    assert (commit["author"], commit["committer"], commit["parents"]) == (None, None, [])
    inner = commit["commit"]
    assert (inner["message"], inner["author"], inner["tree"]["sha"]) == ("", None, "")


async def test_the_sha_alone_is_text(client: httpx.AsyncClient) -> None:
    path = f"{HELLO}/commits/main"
    answer = await client.get(path, headers={"Accept": "application/vnd.github.sha"})
    assert (answer.status_code, answer.text) == (200, SHA)
    assert answer.headers["Content-Type"] == "application/vnd.service.sha+json; charset=utf-8"
    known = {"Accept": "application/vnd.github.v3.sha", "If-None-Match": answer.headers["ETag"]}
    assert (await client.get(path, headers=known)).status_code == 304
    assert (await client.get(path, headers={**known, "Accept": "*/*"})).status_code == 200


async def test_a_commit_of_a_private_repository_is_hidden(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    report(store, seed.vault, "push", ref="refs/heads/main", after=SHA, head_commit=HEAD_COMMIT)
    assert (await client.get(f"/repos/octo/vault/commits/{SHA}")).status_code == 200
    for repo in ("vault", "nothing"):
        answer = await anonymously(client, f"/repos/octo/{repo}/commits/{SHA}")
        assert_error(answer, 404, "Not Found")


@pytest.mark.parametrize("part", ["pulls", "branches-where-head"])
async def test_parts_that_are_not_served_are_missing(client: httpx.AsyncClient, part: str) -> None:
    for ref in (SHA, "feature/oil"):
        content = assert_error(await client.get(f"{HELLO}/commits/{ref}/{part}"), 404, "Not Found")
        page = f"{BASE}/docs/reference/not-served#contents-of-repositories"
        assert content["documentation_url"] == page
