"""Apps, their installations, and the tokens of installations."""

from collections.abc import Callable
from typing import Any

import pytest
from assertions import assert_error, links

from hub.api.apps.accessible_repositories import NO_APP
from store import Connection, Row, Store
from store.accounts import accounts, app_rights, apps, grants, sso, tokens
from store.apps import installation_repositories, installations
from store.clock import MovableClock, parse
from store.registry import app_removal
from store.repositories import repositories

from .conftest import PERMISSIONS, Installed, make_app

INTEGRATION = "Resource not accessible by integration"
NOT_GRANTED = "The permissions requested are not granted to this installation."
NO_SUCH = (
    "There is at least one repository that does not exist or is not accessible to the parent"
    " installation."
)


async def mint(installed: Installed, number: int | None = None, **how: Any) -> Any:
    number = number or installed.on_acme["id"]
    return await installed.itself("POST", f"/app/installations/{number}/access_tokens", **how)


async def test_an_app_sees_itself(installed: Installed) -> None:
    shown = (await installed.itself("GET", "/app")).json()
    assert shown["installations_count"] == 2
    assert shown["permissions"] == PERMISSIONS
    assert shown["html_url"].endswith("/apps/mill")
    assert "secret" not in str(shown)


async def test_an_app_is_found_by_its_slug(installed: Installed, store: Store, seed: Any) -> None:
    shown = await installed.hub.get("/apps/mill")
    assert shown.json()["id"] == installed.app["id"]
    assert "installations_count" not in shown.json()
    assert_error(await installed.hub.get("/apps/nothing"), 404)
    unchanged = {name: installed.app[name] for name in ("url", "description", "permissions")}
    store.write_sync(
        lambda db: apps.update(db, installed.app["id"], events=[], public=False, **unchanged)
    )
    assert_error(await installed.hub.get("/apps/mill"), 404)
    assert_error(await installed.ask("GET", "/apps/mill", seed.reader_token), 404)
    for token in (seed.token, installed.token()):
        assert (await installed.ask("GET", "/apps/mill", token)).status_code == 200


async def test_an_organization_s_app_is_shown_to_tokens_that_are_valid_there(
    installed: Installed, store: Store, seed: Any
) -> None:
    acme = installed.on_acme["account_id"]
    store.write_sync(lambda db: make_app(db, acme, "Kettle", public=False))
    store.write_sync(accounts.join, acme, seed.reader["id"], "member")
    limited = {"kind": "app_user", "permissions": {"members": "read"}}
    for given, status in (
        ({"scopes": ["read:org"]}, 200),
        ({"scopes": []}, 404),
        ({**limited, "target_id": acme}, 200),
        ({**limited, "target_id": seed.reader["id"]}, 404),
    ):
        value, _ = store.write_sync(
            lambda db, how=given: tokens.create(db, seed.reader["id"], **how)
        )
        assert (await installed.ask("GET", "/apps/kettle", value)).status_code == status
    value, row = store.write_sync(
        lambda db: tokens.create(db, seed.reader["id"], scopes=["read:org"])
    )
    store.write_sync(sso.enforce, acme, True)
    assert_error(await installed.ask("GET", "/apps/kettle", value), 404)
    store.write_sync(sso.authorize, row["id"], acme)
    assert (await installed.ask("GET", "/apps/kettle", value)).status_code == 200
    # An installation of another app is no member.
    assert_error(await installed.ask("GET", "/apps/kettle", installed.token()), 404)


async def test_installations_are_listed_in_pages(installed: Installed) -> None:
    first = await installed.itself("GET", "/app/installations?per_page=1")
    assert links(first).keys() == {"next", "last"}
    every = (await installed.itself("GET", "/app/installations")).json()
    assert [one["account"]["login"] for one in every] == ["octo", "acme"]
    assert [one["repository_selection"] for one in every] == ["selected", "all"]
    assert [one["target_type"] for one in every] == ["User", "Organization"]
    one = (await installed.itself("GET", f"/app/installations/{every[1]['id']}")).json()
    assert one == every[1]
    assert one["permissions"] == {"metadata": "read", **PERMISSIONS}


async def test_installations_are_filtered(
    installed: Installed, store: Store, clock: MovableClock, seed: Any
) -> None:
    async def listed(query: str) -> list[str]:
        found = (await installed.itself("GET", f"/app/installations?{query}")).json()
        return [one["account"]["login"] for one in found]

    assert await listed("outdated=true") == []
    clock.advance(10)
    wanted = {"permissions": {**PERMISSIONS, "checks": "write"}, "events": []}
    changed = {"url": "https://mill.example/", "description": None, "public": True, **wanted}
    store.write_sync(lambda db: apps.update(db, installed.app["id"], **changed))
    assert await listed("outdated=true") == ["octo", "acme"]
    now = store.read_sync(apps.get, installed.app["id"])
    assert store.write_sync(installations.accept, installed.on_acme, now, None)
    assert not store.write_sync(installations.accept, installed.on_acme, now, None)
    assert await listed("outdated=true") == ["octo"]
    assert await listed("since=2026-01-01T00:00:00Z") == ["octo", "acme"]
    since = "2026-11-21T07:33:10Z"
    assert parse(since) <= store.clock.now()
    assert await listed(f"since={since}") == ["acme"]


async def test_the_installation_of_an_account_or_repository_is_found(
    installed: Installed, seed: Any
) -> None:
    on_octo, on_acme = installed.on_octo["id"], installed.on_acme["id"]
    for path, number in (
        ("/orgs/acme/installation", on_acme),
        ("/users/acme/installation", on_acme),
        ("/users/OCTO/installation", on_octo),
        ("/repos/acme/tools/installation", on_acme),
        ("/repos/octo/vault/installation", on_octo),
    ):
        answer = await installed.itself("GET", path)
        assert (answer.status_code, answer.json()["id"]) == (200, number), path
    for path in (
        "/orgs/octo/installation",
        "/users/reader/installation",
        "/users/nobody/installation",
        "/repos/octo/hello/installation",
        "/repos/octo/nothing/installation",
    ):
        assert_error(await installed.itself("GET", path), 404)


async def test_the_installation_of_a_renamed_repository_is_found(
    installed: Installed, store: Store, seed: Any
) -> None:
    vault = store.read_sync(repositories.get, seed.vault["id"])
    store.write_sync(repositories.rename, vault, "safe")
    hello = store.read_sync(repositories.get, seed.hello["id"])
    store.write_sync(repositories.rename, hello, "goodbye")
    moved = await installed.itself("GET", "/repos/octo/vault/installation")
    assert moved.status_code == 301
    there = await installed.itself("GET", moved.headers["Location"])
    assert there.json()["id"] == installed.on_octo["id"]
    assert_error(await installed.itself("GET", "/repos/octo/hello/installation"), 404)


async def test_an_installation_of_another_app_is_not_found(
    installed: Installed, another: Callable[..., Row], store: Store, seed: Any
) -> None:
    kiln = another("Kiln")
    other = store.write_sync(installations.create, kiln, seed.reader)
    assert_error(await installed.itself("GET", f"/app/installations/{other['id']}"), 404)
    for body in ({}, {"permissions": 1}):
        assert_error(await mint(installed, other["id"], json=body), 404)


@pytest.mark.parametrize("body", [b"", b"{}", b'{"permissions": {}}'])
async def test_an_empty_body_makes_a_token_with_all_permissions(
    installed: Installed, body: bytes
) -> None:
    answer = await mint(installed, content=body)
    assert answer.status_code == 201
    shown = answer.json()
    assert shown["token"].startswith("ghs_")
    assert len(shown["token"]) == 40
    assert shown["expires_at"] == "2026-11-21T08:33:00Z"
    assert shown["permissions"] == {"metadata": "read", **PERMISSIONS}
    assert shown["repository_selection"] == "all"
    assert "repositories" not in shown


async def test_a_token_can_be_narrowed_to_repositories_and_permissions(
    installed: Installed,
) -> None:
    given = {"repositories": ["KIT"], "permissions": {"issues": "read"}}
    shown = (await mint(installed, json=given)).json()
    assert shown["permissions"] == {"metadata": "read", "issues": "read"}
    assert shown["repository_selection"] == "selected"
    assert [one["full_name"] for one in shown["repositories"]] == ["acme/kit"]
    for method, path, status in (
        ("GET", "/repos/acme/kit", 200),
        ("GET", "/repos/acme/kit/issues", 200),
        ("POST", "/repos/acme/kit/issues", 403),
        ("GET", "/repos/acme/kit/branches", 403),
        ("GET", "/repos/acme/tools", 404),
        ("GET", "/repos/octo/hello", 404),
    ):
        answer = await installed.ask(method, path, shown["token"], json={"title": "x"})
        assert answer.status_code == status, path
        if status == 403:
            assert_error(answer, 403, INTEGRATION)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"permissions": {"issues": "admin"}}, NOT_GRANTED),
        ({"permissions": {"checks": "read"}}, NOT_GRANTED),
        ({"permissions": {"issues": "read", "contents": "write"}}, NOT_GRANTED),
        ({"repositories": ["kit", "nothing"]}, NO_SUCH),
        ({"repositories": ["hello"]}, NO_SUCH),
        ({"repository_ids": [1]}, NO_SUCH),
        ({"repository_ids": [2**62]}, NO_SUCH),
    ],
)
async def test_more_than_the_installation_has(
    installed: Installed, store: Store, body: dict[str, Any], message: str
) -> None:
    before = len(store.read_sync(tokens.list_all))
    assert_error(await mint(installed, json=body), 422, message)
    assert len(store.read_sync(tokens.list_all)) == before


async def test_only_one_list_of_repositories(installed: Installed) -> None:
    both = {"repositories": ["kit"], "repository_ids": [installed.kit["id"]]}
    assert_error(await mint(installed, json=both), 422)
    many = {"repository_ids": list(range(501))}
    assert_error(await mint(installed, json=many), 422)


async def test_accepted_permissions_count(installed: Installed, store: Store) -> None:
    """New permissions of an app apply to an installation after its account accepted them."""
    more = {**PERMISSIONS, "checks": "write"}
    unchanged = {"url": "https://x.example/", "description": None, "events": [], "public": True}
    store.write_sync(lambda db: apps.update(db, installed.app["id"], permissions=more, **unchanged))
    assert (await installed.itself("GET", "/app")).json()["permissions"] == more
    asked = {"permissions": {"checks": "write"}}
    assert_error(await mint(installed, json=asked), 422, NOT_GRANTED)
    now = store.read_sync(apps.get, installed.app["id"])
    store.write_sync(installations.accept, installed.on_acme, now, None)
    assert (await mint(installed, json=asked)).status_code == 201


async def test_tokens_of_a_suspended_installation_are_refused(
    installed: Installed, store: Store
) -> None:
    token, other = installed.token(), installed.token(installed.on_octo)
    assert store.write_sync(installations.suspend, installed.on_acme)
    assert not store.write_sync(installations.suspend, installed.on_acme)
    suspended = "This installation has been suspended"
    assert_error(await installed.ask("GET", "/repos/acme/kit", token), 403, suspended)
    assert_error(await mint(installed), 403, suspended)
    assert (await installed.ask("GET", "/repos/octo/vault", other)).status_code == 200
    shown = (await installed.itself("GET", "/orgs/acme/installation")).json()
    assert shown["suspended_at"] == "2026-11-21T07:33:00Z"
    assert store.write_sync(installations.unsuspend, installed.on_acme)
    assert (await installed.ask("GET", "/repos/acme/kit", token)).status_code == 200


async def test_the_end_of_a_token(installed: Installed, store: Store, clock: MovableClock) -> None:
    revoked, late, gone = (installed.token() for _ in range(3))
    answer = await installed.ask("DELETE", "/installation/token", revoked)
    assert (answer.status_code, answer.content) == (204, b"")
    invented = tokens.new_value("installation")
    clock.advance(3599)
    assert (await installed.ask("GET", "/repos/acme/kit", late)).status_code == 200
    clock.advance(1)
    said = [
        (await installed.ask("GET", "/repos/acme/kit", value)).content
        for value in (revoked, late, invented)
    ]
    assert len(set(said)) == 1
    assert b"Bad credentials" in said[0]
    store.write_sync(installations.remove, installed.on_acme)
    assert_error(await installed.ask("GET", "/repos/acme/kit", gone), 401, "Bad credentials")
    assert_error(await mint(installed), 404)


async def test_a_token_s_value_is_not_stored(installed: Installed, store: Store) -> None:
    value = (await mint(installed)).json()["token"]
    row = store.read_sync(tokens.find, value)
    assert value not in str(row)
    assert row["login"] == "mill[bot]"


async def test_the_repositories_of_an_installation(installed: Installed, seed: Any) -> None:
    async def listed(token: str, query: str = "") -> Any:
        return (await installed.ask("GET", f"/installation/repositories{query}", token)).json()

    shown = await listed(installed.token())
    assert [one["full_name"] for one in shown["repositories"]] == ["acme/tools", "acme/kit"]
    assert (shown["total_count"], shown["repository_selection"]) == (2, "all")
    assert shown["repositories"][0]["permissions"]["pull"]
    assert not shown["repositories"][0]["permissions"]["push"]
    second = await listed(installed.token(), "?per_page=1&page=2")
    assert [one["name"] for one in second["repositories"]] == ["kit"]
    chosen = await listed(installed.token(installed.on_octo))
    assert [one["name"] for one in chosen["repositories"]] == ["vault"]
    assert chosen["repository_selection"] == "selected"
    answer = await installed.ask("GET", "/installation/repositories", seed.token)
    assert_error(answer, 403)


async def test_a_change_of_the_selection_counts_at_once(
    installed: Installed, store: Store, seed: Any
) -> None:
    token = installed.token(installed.on_octo)
    assert (await installed.ask("GET", "/repos/octo/hello", token)).status_code == 404
    hello = [seed.hello["id"]]
    assert store.write_sync(installation_repositories.choose, installed.on_octo, hello)
    assert (await installed.ask("GET", "/repos/octo/hello", token)).status_code == 200
    assert (await installed.ask("GET", "/repos/octo/vault", token)).status_code == 404
    assert store.write_sync(installation_repositories.choose, installed.on_octo, None)
    assert not store.write_sync(installation_repositories.choose, installed.on_octo, None)
    assert (await installed.ask("GET", "/repos/octo/vault", token)).status_code == 200


async def test_no_user_acts(installed: Installed) -> None:
    token = installed.token()
    for path in ("/user", "/user/orgs", "/user/repos", "/user/installations", "/user/emails"):
        assert_error(await installed.ask("GET", path, token), 403, INTEGRATION)


async def test_an_installation_writes_as_the_app_s_bot(installed: Installed, store: Store) -> None:
    for scheme in ("token", "Bearer"):
        headers = {"Authorization": f"{scheme} {installed.token()}", "X-GitHub-Delivery": "7"}
        answer = await installed.hub.post(
            "/repos/acme/kit/issues", headers=headers, json={"title": "Spelling"}
        )
        assert answer.status_code == 201, answer.text
        author = answer.json()["user"]
        assert (author["login"], author["type"]) == ("mill[bot]", "Bot")
    shown = await installed.hub.get("/users/mill%5Bbot%5D")
    assert (shown.json()["type"], shown.json()["login"]) == ("Bot", "mill[bot]")


async def test_installations_of_a_user(installed: Installed, store: Store, seed: Any) -> None:
    def issue(account: Row) -> str:
        more = {"metadata": "read"}
        return store.write_sync(
            lambda db: grants.issue(db, installed.app | {"permissions": more}, account["id"])
        )[0]

    token, stranger = issue(seed.octo), issue(seed.reader)
    shown = (await installed.ask("GET", "/user/installations", token)).json()
    assert [one["account"]["login"] for one in shown["installations"]] == ["octo", "acme"]
    none = (await installed.ask("GET", "/user/installations", stranger)).json()
    assert none == {"total_count": 0, "installations": []}
    of_octo = f"/user/installations/{installed.on_octo['id']}/repositories"
    shown = (await installed.ask("GET", of_octo, token)).json()
    assert [one["full_name"] for one in shown["repositories"]] == ["octo/vault"]
    of_acme = f"/user/installations/{installed.on_acme['id']}/repositories"
    shown = (await installed.ask("GET", of_acme, token)).json()
    assert shown["total_count"] == 2
    assert_error(await installed.ask("GET", of_acme, stranger), 404)
    assert_error(await installed.ask("GET", "/user/installations", seed.token), 403)
    held = {"kind": "app_user", "permissions": {"metadata": "read"}}
    of_no_app, _ = store.write_sync(lambda db: tokens.create(db, seed.octo["id"], **held))
    for path in ("/user/installations", of_acme):
        assert_error(await installed.ask("GET", path, of_no_app), 403, NO_APP)


async def test_a_user_sees_installations_on_accounts_for_which_the_token_is_valid(
    installed: Installed, store: Store, seed: Any
) -> None:
    def make(db: Connection, target: int | None) -> tuple[str, Row]:
        more = {"metadata": "read"}
        held = {"kind": "app_user", "app_id": installed.app["id"], "permissions": more}
        return tokens.create(db, seed.octo["id"], target_id=target, **held)

    async def seen(token: str) -> list[str]:
        shown = (await installed.ask("GET", "/user/installations", token)).json()
        assert shown["total_count"] == len(shown["installations"])
        return [one["account"]["login"] for one in shown["installations"]]

    acme = installed.on_acme["account_id"]
    of_acme = f"/user/installations/{installed.on_acme['id']}/repositories"
    on_octo, _ = store.write_sync(make, seed.octo["id"])
    assert await seen(on_octo) == ["octo"]
    assert_error(await installed.ask("GET", of_acme, on_octo), 404)
    assert await seen(store.write_sync(make, acme)[0]) == ["acme"]
    token, row = store.write_sync(make, None)
    store.write_sync(sso.enforce, acme, True)
    assert await seen(token) == ["octo"]
    assert "X-Service-SSO" in (await installed.ask("GET", of_acme, token)).headers
    store.write_sync(sso.authorize, row["id"], acme)
    assert await seen(token) == ["octo", "acme"]
    assert (await installed.ask("GET", of_acme, token)).status_code == 200


async def test_an_app_goes_with_its_installations(installed: Installed, store: Store) -> None:
    token = installed.token()
    assert store.write_sync(app_removal.remove, installed.app["id"])
    assert_error(await installed.ask("GET", "/repos/acme/kit", token), 401, "Bad credentials")
    assert_error(await installed.itself("GET", "/app"), 401, "Integration not found")
    left = store.read_sync(accounts.by_login, "mill[bot]")
    assert left["heard_of"]


@pytest.mark.parametrize("end", ["installation", "app"])
async def test_a_token_whose_installation_ends_meanwhile_is_wrong(
    installed: Installed, store: Store, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    value, limit = installed.token(), app_rights.limit_token
    user, _ = store.write_sync(
        lambda db: grants.issue(db, installed.app, installed.on_octo["account_id"])
    )

    def late(db: Connection, token: Row) -> Row | None:
        """Another hub ends it after this one has read the token."""
        if end == "app":
            store.write_sync(app_removal.remove, installed.app["id"])
        else:
            store.write_sync(installations.remove, installed.on_acme)
        monkeypatch.setattr(app_rights, "limit_token", limit)
        return limit(db, token)

    monkeypatch.setattr(app_rights, "limit_token", late)
    given = user if end == "app" else value
    # SQLite still sees what there was when the request began to read.
    assert (await installed.ask("GET", "/zen", given)).status_code in (200, 401)
    assert_error(await installed.ask("GET", "/zen", given), 401, "Bad credentials")
