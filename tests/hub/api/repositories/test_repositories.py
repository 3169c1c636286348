"""Repositories and their lists."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, by_id, links
from bearer import Headers, bearer, by
from hub_client import anonymously
from platform_events import report
from transactions import transaction

from store import Row, Store
from store.accounts import accounts, memberships, sso, tokens
from store.issues import issues
from store.projection import projection_table
from store.repositories import repositories

HELLO, VAULT = "/repos/octo/hello", "/repos/octo/vault"


def names(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [repo["full_name"] for repo in answer.json()]


@pytest.fixture
def reader(store: Store, seed: Any) -> Headers:
    return by(store, seed.reader, scopes=["repo"])


@pytest.fixture
def acme(store: Store, seed: Any) -> Row:
    """The organization acme with acme/tools, acme/kit (private), and acme/fork. octo owns it."""
    made = store.write_sync(lambda db: accounts.create(db, "acme", kind="Organization"))
    store.write_sync(accounts.join, made["id"], seed.octo["id"], "admin")
    store.write_sync(repositories.create, made["id"], "tools")
    store.write_sync(lambda db: repositories.create(db, made["id"], "kit", private=True))
    fork = store.write_sync(repositories.create, made["id"], "fork")
    report(store, fork, "push", repository={"fork": True})
    return made


async def test_a_repository_is_shown_in_full(client: httpx.AsyncClient) -> None:
    found = (await client.get(HELLO)).json()
    assert (found["full_name"], found["url"]) == ("octo/hello", f"{BASE}{HELLO}")
    assert found["permissions"] == {
        "admin": True,
        "maintain": True,
        "push": True,
        "triage": True,
        "pull": True,
    }
    assert (found["has_issues"], found["has_wiki"], found["open_issues_count"]) == (True, False, 0)
    # The contract requires `pushed_at`. Without a push, the hub shows the time of creation.
    assert found["pushed_at"] == found["created_at"]
    assert "organization" not in found


@pytest.mark.parametrize(
    ("role", "held"),
    [("read", {"pull"}), ("write", {"pull", "triage", "push"}), ("admin", None)],
)
async def test_permissions_are_the_caller_s(
    client: httpx.AsyncClient, store: Store, seed: Any, role: str, held: set[str] | None
) -> None:
    store.write_sync(repositories.grant, seed.vault["id"], seed.reader["id"], role)
    headers = by(store, seed.reader, scopes=["repo"])
    given = (await client.get(VAULT, headers=headers)).json()["permissions"]
    wanted = held or {"pull", "triage", "push", "maintain", "admin"}
    assert {name for name, allowed in given.items() if allowed} == wanted


async def test_anonymous_answers_show_no_permissions(client: httpx.AsyncClient) -> None:
    found = (await anonymously(client, HELLO)).json()
    assert "permissions" not in found


async def test_a_hidden_repository_is_not_there(
    client: httpx.AsyncClient, seed: Any, reader: Headers
) -> None:
    by_id = f"/repositories/{seed.vault['id']}"
    answers = [await client.get(at, headers=reader) for at in (VAULT, by_id, "/repos/octo/none")]
    for answer in answers:
        assert_error(answer, 404, "Not Found")
    assert answers[0].json() == answers[2].json()


async def test_a_repository_is_found_by_its_id(client: httpx.AsyncClient, seed: Any) -> None:
    by_id = await client.get(f"/repositories/{seed.hello['id']}")
    assert by_id.json() == (await client.get(HELLO)).json()


async def test_fields_that_events_bring_are_shown(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    reported = {"has_wiki": True, "has_issues": False, "mirror_url": "https://mirror.example/hello"}
    report(store, seed.hello, "repository.edited", repository={**reported, "disabled": True})
    found = (await client.get(HELLO)).json()
    assert {name: found[name] for name in reported} == reported
    assert found["disabled"] is True


async def test_open_issues_and_pull_requests_are_counted(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    with transaction(store) as db:
        for number, state in enumerate(("open", "closed", "open"), 1):
            reported = {"number": number, "title": "T", "state": state}
            issues.put(db, seed.hello, reported, projection_table.projected_events(db))
    found = (await client.get(HELLO)).json()
    assert (found["open_issues"], found["open_issues_count"]) == (2, 2)


async def test_an_unchanged_repository_is_not_sent_again(client: httpx.AsyncClient) -> None:
    tag = (await client.get(HELLO)).headers["ETag"]
    assert (await client.get(HELLO, headers={"If-None-Match": tag})).status_code == 304


async def test_an_organization_s_repository_names_it(client: httpx.AsyncClient, acme: Row) -> None:
    found = (await client.get("/repos/acme/tools")).json()
    assert (found["organization"]["login"], found["organization"]["type"]) == (
        "acme",
        "Organization",
    )


async def test_topics_have_pages(client: httpx.AsyncClient, store: Store, seed: Any) -> None:
    report(store, seed.hello, "repository.edited", repository={"topics": ["a", "b", "c"]})
    answer = await client.get(f"{HELLO}/topics?per_page=2")
    assert answer.json() == {"names": ["a", "b"]}
    assert links(answer)["next"] == f"{by_id(HELLO)}/topics?per_page=2&page=2"


# Lists


async def test_the_list_of_a_user_has_public_repositories_only(
    client: httpx.AsyncClient, store: Store, seed: Any, acme: Row
) -> None:
    assert names(await client.get("/users/octo/repos")) == ["octo/hello"]
    store.write_sync(repositories.grant, seed.hello["id"], seed.reader["id"], "write")
    assert names(await client.get("/users/reader/repos")) == []
    assert names(await client.get("/users/reader/repos?type=member")) == ["octo/hello"]
    found = names(await client.get("/users/octo/repos?type=all"))
    assert found == ["acme/fork", "acme/tools", "octo/hello"]


@pytest.mark.parametrize("kind", ["member", "all"])
async def test_a_concealed_membership_shows_no_repositories(
    client: httpx.AsyncClient, store: Store, seed: Any, acme: Row, kind: str
) -> None:
    path = f"/users/octo/repos?type={kind}"
    own = [] if kind == "member" else ["octo/hello"]
    shared = ["acme/fork", "acme/tools", *own]
    reads = by(store, seed.reader, scopes=["read:org"])
    assert names(await anonymously(client, path)) == own
    assert names(await client.get(path, headers=reads)) == own
    assert names(await client.get(path, headers=by(store, seed.octo))) == shared
    store.write_sync(accounts.join, acme["id"], seed.reader["id"], "member")
    assert names(await client.get(path, headers=reads)) == shared
    assert names(await client.get(path, headers=by(store, seed.reader))) == own
    store.write_sync(memberships.publicize, acme["id"], seed.octo["id"], True)
    assert names(await anonymously(client, path)) == shared


async def test_a_token_without_rights_in_an_organization_knows_no_concealed_membership(
    client: httpx.AsyncClient, store: Store, seed: Any, acme: Row
) -> None:
    path = "/users/octo/repos?type=member"
    store.write_sync(accounts.join, acme["id"], seed.reader["id"], "member")
    held = {"kind": "app_user", "permissions": {"members": "read"}}
    for target, wanted in ((acme["id"], ["acme/fork", "acme/tools"]), (seed.reader["id"], [])):
        limited = by(store, seed.reader, target_id=target, **held)
        assert names(await client.get(path, headers=limited)) == wanted
    store.write_sync(sso.enforce, acme["id"], True)
    value, row = store.write_sync(
        lambda db: tokens.create(db, seed.reader["id"], scopes=["read:org"])
    )
    reads = bearer(value)
    assert names(await client.get(path, headers=reads)) == []
    store.write_sync(sso.authorize, row["id"], acme["id"])
    assert names(await client.get(path, headers=reads)) == ["acme/fork", "acme/tools"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", ["fork", "kit", "tools"]),
        ("type=public", ["fork", "tools"]),
        ("type=private", ["kit"]),
        ("type=forks", ["fork"]),
        ("type=sources", ["kit", "tools"]),
        ("type=internal", []),
        ("type=member", []),
    ],
)
async def test_types_of_an_organization_s_list(
    client: httpx.AsyncClient, acme: Row, query: str, wanted: list[str]
) -> None:
    found = await client.get(f"/orgs/acme/repos?sort=full_name&{query}")
    assert names(found) == [f"acme/{name}" for name in wanted]


async def test_private_repositories_are_listed_for_members_with_the_scope(
    client: httpx.AsyncClient, store: Store, seed: Any, acme: Row, reader: Headers
) -> None:
    scopeless = by(store, seed.octo)
    path = "/orgs/acme/repos?sort=full_name"
    answers = [await client.get(path, headers=headers) for headers in (reader, scopeless)]
    for answer in (*answers, await anonymously(client, path)):
        assert names(answer) == ["acme/fork", "acme/tools"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", ["acme/fork", "acme/kit", "acme/tools", "octo/hello", "octo/vault"]),
        ("visibility=private", ["acme/kit", "octo/vault"]),
        ("affiliation=owner", ["octo/hello", "octo/vault"]),
        ("affiliation=owner,%20collaborator&visibility=public", ["octo/hello"]),
        ("type=owner", ["octo/hello", "octo/vault"]),
        ("type=member", ["acme/fork", "acme/kit", "acme/tools"]),
        ("type=public&direction=desc", ["octo/hello", "acme/tools", "acme/fork"]),
        ("since=2100-01-01T00:00:00Z", []),
        ("before=2000-01-01T00:00:00Z", []),
    ],
)
async def test_the_caller_s_own_list(
    client: httpx.AsyncClient, acme: Row, query: str, wanted: list[str]
) -> None:
    assert names(await client.get(f"/user/repos?{query}")) == wanted


@pytest.mark.parametrize(
    "query",
    [
        "type=all&visibility=public",
        "type=all&affiliation=owner",
        "affiliation=friend",
        "type=sources",
        "sort=stars",
        "since=yesterday",
    ],
)
async def test_wrong_filters_are_refused(client: httpx.AsyncClient, query: str) -> None:
    assert_error(await client.get(f"/user/repos?{query}"), 422)


async def test_an_installation_is_no_user(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    headers = by(store, seed.octo, kind="installation", permissions={"metadata": "read"})
    assert_error(await client.get("/user/repos", headers=headers), 403)


async def test_a_list_has_pages(client: httpx.AsyncClient, acme: Row) -> None:
    answer = await client.get("/user/repos?per_page=2&page=2")
    assert names(answer) == ["acme/tools", "octo/hello"]
    assert links(answer)["last"] == f"{BASE}/user/repos?per_page=2&page=3"


async def test_only_the_older_version_has_downloads(client: httpx.AsyncClient) -> None:
    older, newer = [
        (await client.get(HELLO, headers={"X-GitHub-Api-Version": version})).json()
        for version in ("2022-11-28", "2026-03-10")
    ]
    assert older.pop("has_downloads") is False
    assert older == newer
