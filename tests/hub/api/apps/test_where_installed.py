"""A user's token of an app is only valid where the app is installed, unless it is valid everywhere.

`tests/hub/rest/test_every_operation.py` calls each operation with such a token.
"""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from assertions import assert_error
from dashboard_client import open_dashboard
from statement_log import statements
from transactions import transaction

from store import Connection, Row, Store
from store.accounts import accounts, app_tokens, apps, grants, tokens
from store.accounts.app_rights import INSTALLATION
from store.apps import app_hooks, installation_repositories, installations
from store.clock import DAY
from store.errors import Invalid
from store.hooks import hooks
from store.repositories import interaction_limits, invitations, repositories, watching

from .conftest import Installed, make_app

ORIGIN = "https://forge.example"
INTEGRATION = "Resource not accessible by integration"
EVERY = {
    "administration": "write",
    "contents": "write",
    "issues": "write",
    "members": "read",
    "metadata": "read",
    "private_repository_invitations": "write",
    "watching": "read",
    "webhooks": "write",
}
VAULT, HELLO = "/repos/octo/vault", "/repos/octo/hello"
KIT, TOOLS = "/repos/acme/kit", "/repos/acme/tools"
LINES = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def strong(installed: Installed) -> Installed:
    """The app with many permissions, which both accounts have accepted."""
    unchanged = {"url": "https://mill.example/", "description": None, "events": [], "public": True}
    with transaction(installed.store) as db:
        apps.update(db, installed.app["id"], permissions=EVERY, **unchanged)
        app = apps.get(db, installed.app["id"])
        assert app is not None
        for one in (installed.on_octo, installed.on_acme):
            installations.accept(db, one, app, None)
        installed.app = app
    return installed


@pytest.fixture
def user(strong: Installed, seed: Any) -> str:
    """A token of octo that the app has got, as applications get them."""
    return issued(strong, seed.octo)


def issued(world: Installed, account: Row, **given: Any) -> str:
    value, _ = world.store.write_sync(
        lambda db: grants.issue(db, world.app, account["id"], **given)
    )
    return value


async def status(world: Installed, token: str, path: str, method: str = "GET", **how: Any) -> int:
    return (await world.ask(method, path, token, **how)).status_code


async def names(world: Installed, token: str, path: str) -> list[str]:
    answer = await world.ask("GET", path, token)
    assert answer.status_code == 200, answer.text
    return [one["full_name"] for one in answer.json()]


async def test_private_repositories_are_read_where_the_app_is_installed(
    strong: Installed, user: str, store: Store, seed: Any
) -> None:
    cellar = store.write_sync(lambda db: repositories.create(db, 1, "cellar", private=True))
    assert cellar["owner_id"] == seed.octo["id"]
    assert [await status(strong, user, path) for path in (VAULT, KIT, HELLO, TOOLS)] == [200] * 4
    assert_error(await strong.ask("GET", "/repos/octo/cellar", user), 404)
    # Without the app, octo sees it.
    assert await status(strong, seed.token, "/repos/octo/cellar") == 200


@pytest.mark.parametrize("path", [VAULT, f"{VAULT}/hooks", "/orgs/acme/teams"])
async def test_the_rights_on_an_account_are_looked_up_once(
    strong: Installed, user: str, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    asked = statements(monkeypatch)
    assert await status(strong, user, path) == 200
    assert sum(one.startswith(INSTALLATION) for one in asked) == 1


async def test_the_rights_of_the_user_stay_a_limit(
    strong: Installed, store: Store, seed: Any
) -> None:
    reader = issued(strong, seed.reader)
    for path in (VAULT, KIT):
        assert_error(await strong.ask("GET", path, reader), 404)
    store.write_sync(lambda db: repositories.grant(db, strong.kit["id"], seed.reader["id"], "read"))
    assert await status(strong, reader, KIT) == 200
    answer = await strong.ask("POST", f"{KIT}/hooks", reader, json={"config": {"url": ORIGIN}})
    assert_error(answer, 403, "Must have admin rights to Repository.")


async def test_writes_need_the_installed_app_also_in_public_repositories(
    strong: Installed, user: str, store: Store
) -> None:
    hook = {"config": {"url": "https://receiver.example/in"}}
    assert await status(strong, user, f"{TOOLS}/hooks", "POST", json=hook) == 201
    answer = await strong.ask("POST", f"{HELLO}/hooks", user, json=hook)
    assert_error(answer, 403, INTEGRATION)
    assert_error(await strong.ask("GET", f"{HELLO}/hooks", user), 403, INTEGRATION)


async def test_an_installation_limits_the_permissions_where_it_is(
    strong: Installed, user: str, store: Store
) -> None:
    store.write_sync(
        lambda db: installations.accept(db, strong.on_acme, strong.app, {"contents": "read"})
    )
    assert await status(strong, user, f"{VAULT}/hooks") == 200
    assert_error(await strong.ask("GET", f"{KIT}/hooks", user), 403, INTEGRATION)
    assert await status(strong, user, KIT) == 200
    assert_error(await strong.ask("GET", "/orgs/acme/teams", user), 403, INTEGRATION)
    assert (await strong.ask("GET", "/user/memberships/orgs", user)).json() == []
    assert_error(await strong.ask("GET", "/user/memberships/orgs/acme", user), 403, INTEGRATION)


def uninstall(db: Connection, world: Installed) -> None:
    installations.remove(db, world.on_acme)


def suspend(db: Connection, world: Installed) -> None:
    assert installations.suspend(db, world.on_acme)


@pytest.mark.parametrize("end", [uninstall, suspend])
async def test_a_token_loses_an_account_at_once(
    strong: Installed, user: str, store: Store, end: Callable[[Connection, Installed], None]
) -> None:
    paths = (KIT, f"{TOOLS}/hooks", "/orgs/acme/teams", "/user/memberships/orgs/acme")
    assert [await status(strong, user, path) for path in paths] == [200] * 4
    store.write_sync(end, strong)
    assert [await status(strong, user, path) for path in paths] == [404, 403, 404, 404]
    assert await status(strong, user, VAULT) == 200
    assert "acme/kit" not in await names(strong, user, "/user/repos")
    if end is suspend:
        store.write_sync(installations.unsuspend, strong.on_acme)
        assert [await status(strong, user, path) for path in paths] == [200] * 4


async def test_a_repository_that_is_no_longer_chosen_is_lost_at_once(
    strong: Installed, user: str, store: Store, seed: Any
) -> None:
    assert await status(strong, user, VAULT) == 200
    chosen = [seed.hello["id"]]
    store.write_sync(lambda db: installation_repositories.choose(db, strong.on_octo, chosen))
    assert_error(await strong.ask("GET", VAULT, user), 404)
    assert await status(strong, user, f"{HELLO}/hooks") == 200


async def test_lists_have_the_private_repositories_of_installations(
    strong: Installed, user: str, store: Store, seed: Any
) -> None:
    def more(db: Connection) -> None:
        repositories.create(db, seed.octo["id"], "cellar", private=True)
        other = accounts.create(db, "umbra", kind="Organization")
        accounts.join(db, other["id"], seed.octo["id"], "admin")
        hidden = repositories.create(db, other["id"], "hidden", private=True)
        for repo in (seed.vault, hidden):
            watching.put(db, repo["id"], seed.octo["id"], subscribed=True, ignored=False)
        for repo in (strong.kit, hidden):
            invitations.invite(db, repo["id"], seed.reader["id"], seed.octo["id"], "read")

    store.write_sync(more)
    seen = await names(strong, user, "/user/repos")
    assert sorted(seen) == ["acme/kit", "acme/tools", "octo/hello", "octo/vault"]
    # A list has as many pages as entries.
    answer = await strong.ask("GET", "/user/repos?per_page=1&page=4", user)
    assert len(answer.json()) == 1
    assert 'rel="next"' not in answer.headers["Link"]
    assert await names(strong, user, "/user/repos?visibility=private") == ["acme/kit", "octo/vault"]
    assert sorted(await names(strong, user, "/orgs/acme/repos")) == ["acme/kit", "acme/tools"]
    assert await names(strong, user, "/orgs/umbra/repos") == []
    assert await names(strong, user, "/user/subscriptions") == ["octo/vault"]
    memberships = (await strong.ask("GET", "/user/memberships/orgs", user)).json()
    assert [one["organization"]["login"] for one in memberships] == ["acme"]
    assert_error(await strong.ask("GET", "/user/memberships/orgs/umbra", user), 404)
    reader = issued(strong, seed.reader)
    invited = (await strong.ask("GET", "/user/repository_invitations", reader)).json()
    assert [one["repository"]["full_name"] for one in invited] == ["acme/kit"]
    hidden = store.read_sync(
        lambda db: db.value("SELECT max(id) FROM repository_invitation WHERE invitee_id = 2")
    )
    answer = await strong.ask("DELETE", f"/user/repository_invitations/{hidden}", reader)
    assert_error(answer, 404)


async def test_installations_are_listed_also_while_they_are_suspended(
    strong: Installed, user: str, store: Store
) -> None:
    store.write_sync(suspend, strong)
    shown = (await strong.ask("GET", "/user/installations", user)).json()["installations"]
    assert [one["account"]["login"] for one in shown] == ["octo", "acme"]
    of_acme, of_octo = (
        f"/user/installations/{one['id']}/repositories" for one in (strong.on_acme, strong.on_octo)
    )
    assert_error(await strong.ask("GET", of_acme, user), 404)
    assert (await strong.ask("GET", of_octo, user)).json()["total_count"] == 1


async def test_another_app_of_the_user_is_shown_where_the_app_is_installed(
    strong: Installed, user: str, store: Store, seed: Any
) -> None:
    store.write_sync(lambda db: make_app(db, seed.octo["id"], "Kettle", public=False))
    limits = {"kind": "fine_grained", "target_id": strong.on_acme["account_id"]}
    scoped, _ = store.write_sync(lambda db: tokens.create(db, seed.octo["id"], **limits))
    assert await status(strong, user, "/apps/kettle") == 200
    assert_error(await strong.ask("GET", "/apps/kettle", scoped), 404)
    store.write_sync(lambda db: installations.remove(db, strong.on_octo))
    assert_error(await strong.ask("GET", "/apps/kettle", user), 404)
    # The token's own app is shown wherever the token is valid.
    unchanged = {name: strong.app[name] for name in ("url", "description", "permissions")}
    store.write_sync(
        lambda db: apps.update(db, strong.app["id"], events=[], public=False, **unchanged)
    )
    assert await status(strong, user, "/apps/mill") == 200


async def test_events_are_posted_where_the_app_is_installed(strong: Installed, user: str) -> None:
    for path, wanted in (
        ("/octo/vault/events/push", 202),
        ("/acme/kit/events/push", 202),
        ("/octo/hello/events/push", 403),
    ):
        answer = await strong.ask("POST", f"{ORIGIN}{path}", user, json={"ref": "x"})
        assert answer.status_code == wanted, (path, answer.text)
        line = {"event": "push", "repository": "/".join(path.split("/")[1:3]), "payload": {}}
        how = {"content": orjson.dumps(line), "headers": LINES}
        answer = await strong.ask("POST", f"{ORIGIN}/events", user, **how)
        assert (answer.status_code == 202) == (wanted == 202), (path, answer.text)


async def test_events_of_no_repository_need_an_installation_on_all(
    strong: Installed, user: str
) -> None:
    membership = f"{ORIGIN}/%s/events/membership"
    answer = await strong.ask("POST", membership % "acme/tools", user, json={"action": "x"})
    assert answer.status_code == 202
    answer = await strong.ask("POST", membership % "octo/vault", user, json={"action": "x"})
    assert_error(answer, 403)


async def test_subscriptions_are_made_where_the_app_is_installed(
    strong: Installed, user: str
) -> None:
    for name, wanted in (("octo/vault", 204), ("acme/tools", 204), ("octo/hello", 403)):
        form = {
            "hub.mode": "subscribe",
            "hub.topic": f"{ORIGIN}/{name}/events/push",
            "hub.callback": "https://receiver.example/in",
        }
        answer = await strong.ask("POST", f"{ORIGIN}/hub", user, data=form)
        assert answer.status_code == wanted, (name, answer.text)


async def test_a_site_administrator_s_token_has_the_same_limit(
    strong: Installed, store: Store
) -> None:
    def prepare(db: Connection) -> Row:
        other = accounts.create(db, "umbra", kind="Organization")
        repositories.create(db, other["id"], "hidden", private=True)
        return accounts.create(db, "root", site_admin=True)

    root = issued(strong, store.write_sync(prepare))
    for path in ("/repos/umbra/hidden", "/orgs/umbra/teams", "/repos/octo/hidden"):
        assert_error(await strong.ask("GET", path, root), 404)
    assert await status(strong, root, KIT) == 200
    assert "umbra/hidden" not in await names(strong, root, "/orgs/umbra/repos")


async def test_a_scoped_token_keeps_the_limit(
    strong: Installed, user: str, store: Store, seed: Any
) -> None:
    def narrow(db: Connection, target: int, **given: Any) -> str:
        row = app_tokens.of_app(db, strong.app["id"], user)
        assert row is not None
        given = {"repositories": None, "permissions": None, **given}
        return app_tokens.scope(db, row, target_id=target, **given)[0]

    on_acme = store.write_sync(narrow, strong.on_acme["account_id"])
    assert [await status(strong, on_acme, path) for path in (KIT, VAULT)] == [200, 404]
    shown = (await strong.ask("GET", "/user/installations", on_acme)).json()["installations"]
    assert [one["account"]["login"] for one in shown] == ["acme"]
    assert await names(strong, on_acme, "/user/repos?visibility=private") == ["acme/kit"]
    only = {"permissions": {"contents": "read"}, "repositories": [strong.tools["id"]]}
    weak = store.write_sync(lambda db: narrow(db, strong.on_acme["account_id"], **only))
    assert_error(await strong.ask("GET", KIT, weak), 404)
    assert_error(await strong.ask("GET", f"{TOOLS}/hooks", weak), 403, INTEGRATION)
    on_octo = store.write_sync(narrow, seed.octo["id"])
    store.write_sync(suspend, strong)
    assert [await status(strong, one, KIT) for one in (on_acme, weak, on_octo)] == [404] * 3


async def test_an_administrator_s_token_for_an_app_is_valid_everywhere(
    strong: Installed, store: Store, seed: Any
) -> None:
    token = issued(strong, seed.octo, where_installed=False)
    store.write_sync(lambda db: installations.remove(db, strong.on_octo))
    store.write_sync(suspend, strong)
    assert [await status(strong, token, path) for path in (VAULT, KIT, HELLO)] == [200] * 3
    assert await status(strong, token, f"{HELLO}/hooks") == 200
    # Another token of the same app and user is limited all the same.
    assert_error(await strong.ask("GET", VAULT, issued(strong, seed.octo)), 404)


async def test_the_dashboard_shows_the_hooks_of_covered_repositories(
    strong: Installed, user: str, store: Store, seed: Any
) -> None:
    def add(db: Connection, repo: Row) -> int:
        url = f"https://{repo['name']}.example/in"
        return int(hooks.create(db, repo["id"], url=url, events=["push"])["id"])

    made = {
        repo["name"]: store.write_sync(add, repo)
        for repo in (seed.hello, seed.vault, strong.kit, strong.tools)
    }

    async def shown() -> tuple[list[str], list[int]]:
        async with open_dashboard(store, user, last=False) as browser:
            page = await browser.page("/ui/hooks")
            answers = [await browser.get(f"/ui/hooks/{number}") for number in made.values()]
        listed = [name for name in made if f"https://{name}.example" in page]
        return listed, [answer.status_code for answer in answers]

    def limit(db: Connection, repo: Row) -> None:
        interaction_limits.limit_repository(db, repo, "existing_users", db.now + DAY)

    async def limited() -> list[str]:
        async with open_dashboard(store, user, last=False) as browser:
            page = await browser.page("/ui/limits")
        return [name for name in made if f"/{name}" in page]

    for repo in (seed.hello, strong.tools):
        store.write_sync(limit, repo)
    assert await shown() == (["vault", "kit", "tools"], [403, 200, 200, 200])
    assert await limited() == ["tools"]
    only = {"webhooks": "read"}
    store.write_sync(lambda db: installations.accept(db, strong.on_acme, strong.app, only))
    assert (await shown())[0] == ["vault", "kit", "tools"]
    assert await limited() == []
    only = {"contents": "read"}
    store.write_sync(lambda db: installations.accept(db, strong.on_acme, strong.app, only))
    assert await shown() == (["vault"], [403, 200, 403, 403])
    store.write_sync(lambda db: installations.remove(db, strong.on_octo))
    assert await shown() == ([], [403, 404, 403, 403])
    await store.close()


async def test_only_an_integration_s_token_of_a_user_has_the_limit(
    installed: Installed, store: Store, seed: Any
) -> None:
    for given in ({}, {"kind": "app_user"}, {"kind": "oauth", "app_id": installed.app["id"]}):
        with pytest.raises(Invalid, match="valid everywhere"):
            store.write_sync(
                lambda db, how=given: tokens.create(
                    db, seed.octo["id"], where_installed=True, **how
                )
            )


async def test_a_hook_of_the_app_itself_is_not_the_user_s(
    strong: Installed, user: str, store: Store
) -> None:
    given = {"url": "https://mill.example/in", "content_type": "json"}
    hook = store.write_sync(lambda db: app_hooks.create(db, strong.app, **given))
    assert_error(await strong.ask("GET", f"{TOOLS}/hooks/{hook['id']}", user), 404)
