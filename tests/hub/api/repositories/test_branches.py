"""Branches, tags and refs, as pushes report them."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, by_id, links
from hub_client import anonymously
from platform_events import HEAD_COMMIT, report

from hub.api.repositories import branch_serializers
from store import Store
from store.repositories import branch_protection, refs
from store.repositories.branch_protection import BranchPattern

HELLO = "/repos/octo/hello"
SHA, TREE = HEAD_COMMIT["id"], HEAD_COMMIT["tree_id"]
OTHER = "b" * 40


def push(store: Store, repo: Any, name: str, sha: str = SHA, head: Any = HEAD_COMMIT) -> None:
    report(store, repo, "push", ref=f"refs/{name}", after=sha, head_commit=head)


async def test_a_branch_is_shown_as_the_push_described_it(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    push(store, seed.hello, "heads/feature/oil")
    answer = await client.get(f"{HELLO}/branches/feature/oil")
    found = answer.json()
    assert found["_links"]["self"] == f"{BASE}{HELLO}/branches/feature/oil"
    commit = found["commit"]
    assert (commit["sha"], commit["author"]["login"], commit["committer"]) == (SHA, "octo", None)
    inner = commit["commit"]
    assert (inner["message"], inner["tree"]["sha"]) == ("Oil the tenor", TREE)
    assert inner["author"] == {
        "name": "Octo",
        "email": "octo@tower.example",
        "date": "2026-11-20T09:00:00Z",
    }
    encoded = await client.get(f"{HELLO}/branches/feature%2Foil")
    assert encoded.json() == found


async def test_a_commit_that_no_push_described_has_no_author(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    push(store, seed.hello, "heads/main")
    push(store, seed.hello, "heads/main", OTHER, head=None)
    commit = (await client.get(f"{HELLO}/branches/main")).json()["commit"]
    assert (commit["sha"], commit["author"], commit["parents"]) == (OTHER, None, [])
    assert (commit["commit"]["message"], commit["commit"]["tree"]["sha"]) == ("", "")


async def test_an_unknown_branch_is_not_found(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    push(store, seed.hello, "heads/main")
    push(store, seed.hello, "tags/v1")
    report(store, seed.hello, "delete", ref="main", ref_type="branch")
    for name in ("main", "v1", "heads/main"):
        assert_error(await client.get(f"{HELLO}/branches/{name}"), 404, "Not Found")


async def test_branches_have_pages_and_no_tags(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    for name in ("heads/b", "heads/a", "tags/a", "heads/c"):
        push(store, seed.hello, name)
    answer = await client.get(f"{HELLO}/branches?per_page=2")
    assert [one["name"] for one in answer.json()] == ["a", "b"]
    assert answer.json()[0]["commit"] == {"sha": SHA, "url": f"{BASE}{HELLO}/commits/{SHA}"}
    assert links(answer)["last"] == f"{by_id(HELLO)}/branches?per_page=2&page=2"


async def test_rules_protect_branches(client: httpx.AsyncClient, store: Store, seed: Any) -> None:
    for name in ("main", "release/1", "topic"):
        push(store, seed.hello, f"heads/{name}")
    for action, name in (("created", "main"), ("created", "release/*"), ("created", "topic")):
        report(store, seed.hello, f"branch_protection_rule.{action}", rule={"name": name})
    report(store, seed.hello, "branch_protection_rule.deleted", rule={"name": "topic"})

    async def listed(query: str) -> dict[str, bool]:
        answer = await client.get(f"{HELLO}/branches?{query}")
        return {one["name"]: one["protected"] for one in answer.json()}

    assert await listed("") == {"main": True, "release/1": True, "topic": False}
    assert await listed("protected=true") == {"main": True, "release/1": True}
    assert await listed("protected=false") == {"topic": False}
    assert_error(await client.get(f"{HELLO}/branches?protected=perhaps"), 422)
    whole = (await client.get(f"{HELLO}/branches/release/1")).json()
    assert (whole["protected"], whole["protection"]) == (True, {"enabled": True})
    page = f"{BASE}/docs/reference/not-served#settings-of-repositories"
    content = assert_error(await client.get(whole["protection_url"]), 404, "Not Found")
    assert content["documentation_url"] == page


async def test_a_rule_gets_another_pattern(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    report(store, seed.hello, "branch_protection_rule.created", rule={"name": "main"})
    changes = {"name": {"from": "main"}}
    report(
        store, seed.hello, "branch_protection_rule.edited", rule={"name": "trunk"}, changes=changes
    )
    assert store.read_sync(branch_protection.patterns, seed.hello["id"]) == [BranchPattern("trunk")]


@pytest.mark.parametrize(
    ("pattern", "branch", "wanted"),
    [
        ("main", "main", True),
        ("main", "maintain", False),
        ("*", "main", True),
        ("*", "a/b", False),
        ("release/*", "release/1", True),
        ("release/*", "release/1/2", False),
        ("**/fix", "fix", True),
        ("**/fix", "a/b/fix", True),
        ("a/**", "a", True),
        ("a/**/z", "a/b/c/z", True),
        ("a/**/z", "a/b/c", False),
        ("v[0-9]", "v1", True),
        ("v[0-9]", "vx", False),
        ("/".join(["**"] * 60), "/".join(["a"] * 60), True),
        ("/".join([*["**", "a"] * 40, "b"]), "/".join(["a"] * 80), False),
    ],
)
def test_a_pattern_protects_matching_branches(pattern: str, branch: str, wanted: bool) -> None:
    assert BranchPattern(pattern).matches(branch) is wanted


def test_a_pattern_without_its_beginning_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    monkeypatch.setattr(branch_protection, "translate", lambda part: compiled.append(part) or "x")
    for one in (pattern := BranchPattern("release/*")), pattern, BranchPattern("main"):
        assert not branch_protection.protects([one], "topic/1")
    assert compiled == []
    assert branch_protection.protects([pattern], "release/x")
    assert not branch_protection.protects([pattern], "release/y")
    assert compiled == ["*"]


async def test_only_the_branches_of_a_page_are_read_and_shown(
    client: httpx.AsyncClient, store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {f"refs/heads/release/{number:04}": SHA for number in range(500)}
    store.write_sync(refs.replace, seed.hello["id"], names)
    report(store, seed.hello, "branch_protection_rule.created", rule={"name": "release/*"})
    shown, whole = [], branch_serializers.short_branch
    monkeypatch.setattr(
        branch_serializers, "short_branch", lambda *one: shown.append(one) or whole(*one)
    )
    answer = await client.get(f"{HELLO}/branches?protected=true&per_page=2&page=3")
    assert [one["name"] for one in answer.json()] == ["release/0004", "release/0005"]
    assert links(answer)["last"] == f"{by_id(HELLO)}/branches?protected=true&per_page=2&page=250"
    assert len(shown) == 2
    assert (await client.get(f"{HELLO}/branches?protected=false")).json() == []


async def test_tags_are_listed(client: httpx.AsyncClient, store: Store, seed: Any) -> None:
    push(store, seed.hello, "tags/v1.0")
    push(store, seed.hello, "tags/v2.0", OTHER)
    plain, annotated = (await client.get(f"{HELLO}/tags")).json()
    assert (plain["name"], annotated["name"]) == ("v1.0", "v2.0")
    # The push of v2.0 reports the tag object. The list shows the commit to which it points.
    assert plain["commit"]["sha"] == annotated["commit"]["sha"] == SHA
    kinds = [
        (await client.get(f"{HELLO}/git/ref/tags/{name}")).json()["object"]
        for name in ("v1.0", "v2.0")
    ]
    assert [(one["type"], one["sha"]) for one in kinds] == [("commit", SHA), ("tag", OTHER)]


async def test_a_ref_is_found_by_its_whole_name(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    push(store, seed.hello, "heads/feature/oil")
    found = (await client.get(f"{HELLO}/git/ref/heads/feature/oil")).json()
    assert found["ref"] == "refs/heads/feature/oil"
    assert found["url"] == f"{BASE}{HELLO}/git/ref/heads/feature/oil"
    assert_error(await client.get(f"{HELLO}/git/ref/heads/feature"), 404)


@pytest.mark.parametrize(
    ("prefix", "wanted"),
    [
        ("heads/f", ["heads/fast", "heads/feature/a"]),
        ("heads/", ["heads/fast", "heads/feature/a"]),
        ("tags", ["tags/f"]),
        ("", ["heads/fast", "heads/feature/a", "tags/f"]),
        ("heads/%", []),
        ("heads/none", []),
    ],
)
async def test_refs_are_found_by_their_prefix(
    client: httpx.AsyncClient, store: Store, seed: Any, prefix: str, wanted: list[str]
) -> None:
    for name in ("heads/feature/a", "heads/fast", "tags/f"):
        push(store, seed.hello, name)
    answer = await client.get(f"{HELLO}/git/matching-refs/{prefix}")
    assert [one["ref"] for one in answer.json()] == [f"refs/{name}" for name in wanted]
    older = await client.get(f"{HELLO}/git/refs/{prefix}")
    if wanted:
        assert older.json() == answer.json()
    else:
        assert_error(older, 404, "Not Found")


async def test_the_older_form_prefers_the_ref_with_the_whole_name(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    for name in ("heads/oil", "heads/oil-can", "tags/oil"):
        push(store, seed.hello, name)
    at = f"{HELLO}/git/refs"
    found = (await client.get(f"{at}/heads/oil")).json()
    assert found == (await client.get(f"{HELLO}/git/ref/heads/oil")).json()
    assert (await client.get(f"{at}/refs%2Fheads%2Foil")).json() == found
    answer = await client.get(f"{at}/heads/oil-")
    assert [one["ref"] for one in answer.json()] == ["refs/heads/oil-can"]
    assert_error(await client.get(f"{at}/heads/tar"), 404, "Not Found")


async def test_all_refs_have_pages(client: httpx.AsyncClient, store: Store, seed: Any) -> None:
    for name in ("tags/a", "heads/b", "heads/a"):
        push(store, seed.hello, name)
    answer = await client.get(f"{HELLO}/git/refs?per_page=2")
    assert [one["ref"] for one in answer.json()] == ["refs/heads/a", "refs/heads/b"]
    assert links(answer)["last"] == f"{by_id(HELLO)}/git/refs?per_page=2&page=2"
    answer = await client.get(f"{HELLO}/git/refs?per_page=2&page=2")
    assert [one["ref"] for one in answer.json()] == ["refs/tags/a"]


async def test_an_empty_repository_has_no_refs(client: httpx.AsyncClient) -> None:
    for path in ("ref/heads/main", "matching-refs/heads", "refs", "refs/heads"):
        answer = await client.get(f"{HELLO}/git/{path}")
        assert_error(answer, 409, "Git Repository is empty.")
    assert (await client.get(f"{HELLO}/branches")).json() == []


@pytest.mark.parametrize(
    "path",
    ["branches", "branches/main", "tags", "git/ref/heads/main", "git/refs", "git/refs/heads"],
)
async def test_branches_of_private_repositories_are_hidden(
    client: httpx.AsyncClient, store: Store, seed: Any, path: str
) -> None:
    push(store, seed.vault, "heads/main")
    assert (await client.get(f"/repos/octo/vault/{path}")).status_code == 200
    for repo in ("vault", "nothing"):
        assert_error(await anonymously(client, f"/repos/octo/{repo}/{path}"), 404, "Not Found")


def test_a_ref_keeps_the_description_of_its_commit(store: Store, seed: Any) -> None:
    repo_id = seed.hello["id"]
    push(store, seed.hello, "heads/main")
    before = store.read_sync(refs.get, repo_id, "refs/heads/main")
    assert store.write_sync(refs.put, repo_id, "refs/heads/main", SHA) is False
    assert store.read_sync(refs.get, repo_id, "refs/heads/main") == before
    assert store.write_sync(refs.put, repo_id, "refs/heads/main", OTHER) is True
    after = store.read_sync(refs.get, repo_id, "refs/heads/main")
    assert after is not None
    assert after["head"] is None
