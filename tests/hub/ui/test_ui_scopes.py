"""A site administrator's token in the dashboard: its scopes hold as in the API."""

import re
from typing import Any

import pytest
from dashboard_client import Browser, open_dashboard, text_of
from transactions import transaction
from ui_world import World

from hub.rest.resolve import PARAMETER
from hub.ui.section import Action, SectionPage
from hub.ui.site_sections import SECTIONS
from store.accounts import accounts, apps, tokens
from store.apps import installations
from store.audit import audit_search
from store.clock import DAY
from store.delivery.replays import replay_runs
from store.delivery.replays.replay_selection import ReplaySelection
from store.enterprises import enterprises
from store.hooks import hook_links, hooks
from store.jobs import jobs
from store.jobs.jobs import JobSchedule

# Users may end their own sessions and save their own views with any token of their own.
OWN = ("/ui/sessions/", "/ui/views")
ACTS = [
    act
    for section in SECTIONS
    for act in section.acts
    if act.who != "anyone" and not act.path.startswith(OWN)
]
PAGES = [
    page
    for section in SECTIONS
    for page in section.pages
    if page.who != "anyone" and PARAMETER.search(page.path)
]
LOOKING = ["read:repo_hook", "read:enterprise", "read:org", "read:user"]
SCOPES: list[list[str]] = [[], ["read:org"], ["read:repo_hook"], ["public_repo", "user"], LOOKING]


def token(world: World, *scopes: str, **given: Any) -> str:
    """Create a token of the site administrator. Return its value."""
    root = world.store.read_sync(accounts.by_login, "root")
    assert root is not None
    return world.store.write_sync(tokens.create, root["id"], scopes=scopes, **given)[0]


def paths(world: World) -> dict[str, list[object]]:
    """Create objects for the parameters of paths. Return the values for each parameter."""
    attempt = world.send(world.hidden)[0]

    with transaction(world.store) as db:
        jobs.save_schedules(db, [JobSchedule("prune", "* * * * *", None)])
        asked = ReplaySelection(repo_id=world.hidden["repo_id"])
        runs = [replay_runs.create(db, one, "root")["id"] for one in (asked, ReplaySelection())]
        _, link = hook_links.create(db, world.hidden["id"], "", "root", DAY)
        event = db.value("SELECT max(id) FROM event")
        installation = _installation(db)
        return {
            "hook_id": [world.hidden["id"], world.other["id"]],
            "delivery_id": [attempt],
            "link_id": [link["id"]],
            "run_id": runs,
            "app_id": [installation["app_id"]],
            "installation_id": [installation["id"]],
            "name": ["prune"],
            "host": ["receiver.example"],
            "event": ["push"],
            "view_id": [1],
            "event_id": [event],
            "repo_id": [world.hidden["repo_id"]],
        }


def _installation(db: Any) -> Any:
    owner = accounts.by_login(db, "octo")
    given = {"url": "https://mill.example/", "kind": "integration"}
    _, app = apps.create(db, owner["id"], "Mill", permissions={"issues": "read"}, **given)
    return installations.create(db, app, owner)


def filled(one: Action | SectionPage, found: dict[str, list[object]]) -> list[str]:
    """Return the paths of an action or page. Raises KeyError for a parameter without values."""
    (name,) = PARAMETER.findall(one.path)[:1] or ("",)
    some = []
    for value in found[name] if name else [""]:
        path = one.path.replace(f"{{{name}}}", str(value))
        some.append(PARAMETER.sub(lambda other: str(found[other[1]][0]), path))
    return some


def kept(world: World) -> list[Any]:
    """Return the rows that actions can change."""
    tables = ("hook", "hook_link", "delivery", "replaying", "job", "installation")
    return [world.store.read_sync(lambda db, t=one: db.all(f"SELECT * FROM {t}")) for one in tables]


async def signed_in(browser: Browser, value: str) -> None:
    browser.client.cookies.clear()
    assert (await browser.sign_in(value)).status_code == 303


async def test_actions_outside_of_a_token_s_scopes_are_refused(world: World) -> None:
    found = paths(world)
    async with open_dashboard(world.store) as browser:
        for scopes in SCOPES:
            await signed_in(browser, token(world, *scopes))
            before = kept(world)
            for act in ACTS:
                for path in filled(act, found):
                    answer = await browser.post(path, {"repository": "octo/vault", "days": "7"})
                    assert answer.status_code in (403, 404), (scopes, path)
            everything = await browser.post("/ui/replay/start", {"since": "2026-01-01T00:00"})
            assert everything.status_code in (403, 404, 422), scopes
            assert kept(world) == before, scopes
    reported = {row["action"] for row in world.store.read_sync(audit_search.page, limit=100)}
    assert reported == {"ui/sign-in"}


async def test_pages_outside_of_a_token_s_scopes_are_refused(world: World) -> None:
    found = paths(world)
    async with open_dashboard(world.store) as browser:
        for scopes in ([], ["read:org"], ["user", "gist"], ["admin:enterprise"]):
            await signed_in(browser, token(world, *scopes))
            for page in PAGES:
                if page.who == "operator" and "admin:enterprise" in scopes:
                    continue
                for path in filled(page, found):
                    status = (await browser.get(path)).status_code
                    assert status in (403, 404), (scopes, path)
            for path in ("/ui/hooks", "/ui/deliveries", "/ui/events", "/ui/topics", "/ui/replay"):
                said = text_of(await browser.page(path))
                assert "octo/vault" not in said, (scopes, path)
                assert "theirs/thing" not in said, (scopes, path)
        for scopes in ([], ["repo", "admin:org", "admin:repo_hook"]):
            await signed_in(browser, token(world, *scopes))
            for path in ("/ui/jobs", "/ui/audit", "/ui/audit/check"):
                assert (await browser.get(path)).status_code == 403, (scopes, path)


async def test_pages_and_actions_within_the_scopes_are_allowed(world: World) -> None:
    place = f"/ui/hooks/{world.other['id']}"
    async with open_dashboard(world.store) as browser:
        for scope, looks, changes in (
            ("read:repo_hook", 200, 403),
            ("write:repo_hook", 200, 200),
            ("repo", 200, 200),
        ):
            await signed_in(browser, token(world, scope))
            assert (await browser.get(place)).status_code == looks
            assert "theirs/thing" in text_of(await browser.page("/ui/hooks"))
            before = world.store.read_sync(hooks.by_id, world.other["id"])
            answer = await browser.post(f"{place}/secret", on=place)
            assert answer.status_code == changes
            after = world.store.read_sync(hooks.by_id, world.other["id"])
            assert before is not None
            assert after is not None
            assert (before["secret"] != after["secret"]) == (changes == 200)
            everything = await browser.post("/ui/replay/start", {"since": "2026-01-01T00:00"})
            assert everything.status_code == (303 if changes == 200 else 403)


async def test_jobs_are_run_with_more_than_they_are_seen_with(world: World) -> None:
    paths(world)
    async with open_dashboard(world.store) as browser:
        for scope, runs in (("read:enterprise", 403), ("admin:enterprise", 303)):
            await signed_in(browser, token(world, scope))
            assert ('action="/ui/jobs/prune/run"' in await browser.page("/ui/jobs")) == (
                runs == 303
            )
            assert (await browser.post("/ui/jobs/prune/run")).status_code == runs


async def test_reports_are_an_enterprise_s(world: World) -> None:
    world.store.write_sync(enterprises.create, "globe")
    async with open_dashboard(world.store, last=False) as browser:
        for scopes, status in ((["repo", "admin:org"], 403), (["read:enterprise"], 200)):
            await signed_in(browser, token(world, *scopes))
            assert (await browser.get("/ui/reports")).status_code == status
    async with open_dashboard(world.store, imports=True) as browser:
        for scope, status in (("read:enterprise", 403), ("repo", 200)):
            await signed_in(browser, token(world, scope))
            for path in ("/ui/imports", "/ui/limits"):
                assert (await browser.get(path)).status_code == status, (scope, path)


@pytest.mark.parametrize("scopes", SCOPES)
async def test_each_entry_of_the_menu_leads_to_a_page(world: World, scopes: list[str]) -> None:
    async with open_dashboard(world.store, token(world, *scopes)) as browser:
        menu = (await browser.page("/ui")).split("<main", 1)[0]
        for place in set(re.findall(r'<li><a href="([^"]*)"', menu)):
            assert (await browser.get(place)).status_code == 200, place


async def test_the_rights_of_the_token_limit_the_offered_actions(world: World) -> None:
    world.send(world.good)
    dry_run = f"/ui/replay?hook={world.good['id']}&count=1"
    async with open_dashboard(world.store) as browser:
        for scope, is_offered in (("read:repo_hook", False), ("write:repo_hook", True)):
            browser.client.cookies.clear()
            await browser.sign_in(token(world, scope))
            assert ("/ui/hooks/new" in await browser.page("/ui/hooks")) is is_offered
            page = await browser.page(dry_run)
            assert "Deliveries to be created 1" in text_of(page)
            assert ('form="start"' in page) is is_offered
