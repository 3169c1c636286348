"""The dashboard's pages of apps, which only operators may see."""

import re
from typing import Any

import pytest
from app_tokens import app_key
from assertions import bodies
from dashboard_client import open_dashboard, text_of
from transactions import transaction
from ui_rows import operator

from hub.ui.apps.pages import REPOSITORIES
from store import Connection, Row, Store
from store.accounts import accounts, apps, tokens
from store.apps import app_hooks, app_keys, installation_repositories, installations
from store.clock import MovableClock
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from store.hooks import hooks
from store.repositories import repositories


@pytest.fixture
def mill(store: Store, seed: Any) -> Row:
    """Install the app Mill on the account octo, for the repository octo/hello."""

    with transaction(store) as db:
        given = {"url": "https://mill.example/", "kind": "integration"}
        _, app = apps.create(db, seed.octo["id"], "Mill", permissions={"issues": "read"}, **given)
        app_keys.add(db, app["id"], app_key(0)[1])
        app_hooks.create(db, app, url="https://mill.example/hook?key=hush", secret="s3cret")
        return installations.create(db, app, seed.octo, repositories=[seed.hello["id"]])


async def test_an_app_s_page_shows_its_installations_and_no_secret(store: Store, mill: Row) -> None:
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        assert "Mill mill octo integration 1 1 0" in text_of(await browser.page("/ui/apps"))
        html = await browser.page(f"/ui/apps/{mill['app_id']}")
        said = text_of(html)
        assert "hello" in said
        assert "issues: read" in said
        assert "BEGIN PUBLIC KEY" in said
        assert "https://mill.example/hook" in said
        assert "s3cret" not in html
        assert (await browser.get("/ui/apps/999")).status_code == 404


async def test_an_installation_names_some_of_its_repositories(
    store: Store, seed: Any, mill: Row
) -> None:
    def choose_more(db: Connection) -> None:
        made = [repositories.create(db, seed.octo["id"], f"more-{n}") for n in range(REPOSITORIES)]
        chosen = [seed.hello["id"], *(row["id"] for row in made)]
        installation_repositories.choose(db, mill, chosen)

    store.write_sync(choose_more)
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        said = text_of(await browser.page(f"/ui/apps/{mill['app_id']}"))
    assert "hello, more-0, more-1," in said
    assert said.count("and more") == 1
    assert f"more-{REPOSITORIES - 1}" not in said
    (row,) = store.read_sync(installations.of_app, mill["app_id"])
    assert len(row["repositories"]) == REPOSITORIES + 1


async def test_an_empty_app_is_shown(store: Store, seed: Any) -> None:
    _, lab = store.write_sync(apps.create, seed.octo["id"], "Lab", url="https://lab.example/")
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        said = text_of(await browser.page(f"/ui/apps/{lab['id']}"))
    for word in ("Not installed", "No hook", "No keys"):
        assert word in said


async def test_apps_are_found_by_a_part_of_a_name_and_a_period(
    store: Store, seed: Any, clock: MovableClock
) -> None:
    for number, name in enumerate(("Lab", "Bench", "Labour")):
        store.write_sync(apps.create, seed.octo["id"], name, url=f"https://{number}.example/")
        clock.advance(seconds=3600)
    async with open_dashboard(store, store.write_sync(operator), ui_idle=10**6) as browser:

        async def found(query: str) -> list[str]:
            return re.findall(r'/ui/apps/\d+">([^<]+)</a>', await browser.page(f"/ui/apps?{query}"))

        assert await found("") == ["Labour", "Bench", "Lab"]
        assert await found("sort=app") == ["Bench", "Lab", "Labour"]
        assert await found("name=LAB") == ["Labour", "Lab"]
        assert await found("name=octo&range=1h") == ["Labour"]
        assert await found("name=%25") == []
        assert "No matching apps" in text_of(await browser.page("/ui/apps?name=%25"))


async def test_the_list_of_apps_is_empty_without_apps(store: Store, seed: Any) -> None:
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        assert "tocsin app add" in text_of(await browser.page("/ui/apps"))


async def test_an_installation_is_suspended_and_resumed(store: Store, mill: Row) -> None:
    page = f"/ui/apps/{mill['app_id']}"
    path = f"{page}/installations/{mill['id']}"
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        assert (await browser.post(f"{path}/suspend", on=page)).status_code == 303
        assert "suspended" in text_of(await browser.page(page))
        assert (await browser.post(f"{path}/resume", on=page)).status_code == 303
        other = f"/ui/apps/{mill['app_id'] + 1}/installations/{mill['id']}/suspend"
        assert (await browser.post(other, on=page)).status_code == 404
    assert [one["action"] for one in bodies(store, "installation")] == ["suspend", "unsuspend"]


async def test_a_token_without_write_scopes_cannot_suspend_an_app(store: Store, mill: Row) -> None:
    def make(db: Connection) -> str:
        root = accounts.create(db, "root", site_admin=True)
        return tokens.create(db, root["id"], scopes=["repo", "read:enterprise"])[0]

    page = f"/ui/apps/{mill['app_id']}"
    async with open_dashboard(store, store.write_sync(make)) as browser:
        assert 'aria-label="Suspend' not in await browser.page(page)
        path = f"{page}/installations/{mill['id']}/suspend"
        assert (await browser.post(path, on=page)).status_code == 403
    assert bodies(store, "installation") == []


async def test_apps_are_for_operators(store: Store, seed: Any, mill: Row) -> None:
    async with open_dashboard(store, seed.token) as browser:
        for path in ("/ui/apps", f"/ui/apps/{mill['app_id']}"):
            assert (await browser.get(path)).status_code == 403


async def test_a_filter_of_its_hook_is_tested_on_the_payload_that_is_sent(
    store: Store, seed: Any, mill: Row
) -> None:
    hook = store.read_sync(app_hooks.of, mill["app_id"])
    assert hook is not None
    filter_ = {"payload": {"installation": {"id": {"$eq": mill["id"]}}}}
    store.write_sync(hooks.update, hook, options={"filter": filter_})
    arrival = IncomingEvent(1, "g-1", seed.hello["id"], "issues", b'{"action":"opened"}')
    (receipt,) = store.write_sync(events.accept_all, [arrival])
    at = f"/ui/hooks/{hook['id']}"
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        answer = await browser.post(f"{at}/filter", {"event": str(receipt.event_id)}, on=at)
        assert "The event is delivered" in text_of(answer.text)
        answer = await browser.post(f"{at}/filter", {"payload": '{"action": "opened"}'}, on=at)
        assert "The event is filtered" in text_of(answer.text)


async def test_the_hook_of_an_app_without_events_has_a_page(store: Store, mill: Row) -> None:
    hook = store.read_sync(app_hooks.of, mill["app_id"])
    assert hook is not None
    store.write_sync(hooks.update, hook, options={"filter": {"action": "opened"}})
    at = f"/ui/hooks/{hook['id']}"
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        assert "OWNER/REPO/events/push" in await browser.page(at)
        answer = await browser.post(f"{at}/filter", {"payload": '{"action": "opened"}'}, on=at)
        assert "as the event push" in text_of(answer.text)
