"""Hooks of organizations and of the installation in the dashboard: readers and changes."""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from assertions import attempted, waiting
from dashboard_client import open_dashboard, text_of
from required import required
from ui_trials import Trials
from ui_world import World

from hub.auth import credentials
from hub.ui.pages import overview
from hub.ui.viewer import DashboardViewer
from store import Connection, Row, Store
from store.accounts import accounts, apps, sessions, tokens
from store.apps import app_hooks
from store.audit import audit_search
from store.audit.audit_search import AuditFilter
from store.clock import HOUR
from store.delivery import event_queries, outbox
from store.hooks import hook_links, hooks
from store.hooks.hook_targets import SYSTEM, organization
from store.repositories import repositories

KIND = "integration"
OWNING = ["repo", "admin:org_hook"]


@dataclass
class Around:
    """The organization acme belongs to octo, and reader administers its only repository.

    `own`, `org` and `system` are the ids of the repository's, the organization's and the
    installation's hook. Each hook has an attempt.
    """

    world: World
    repo: Row
    own: int
    org: int
    system: int
    event: int

    def token(self, account: Row, *scopes: str) -> str:
        return self.world.store.write_sync(tokens.create, account["id"], scopes=scopes)[0]

    def attempt(self, hook_id: int) -> int:
        last = "SELECT max(id) FROM attempt WHERE hook_id = :id"
        return int(self.world.store.read_sync(lambda db: db.value(last, id=hook_id)))


@pytest.fixture
def around(store: Store, seed: Any) -> Around:
    world = World(store, seed)
    acme = store.write_sync(accounts.create, "acme", kind="Organization")
    store.write_sync(accounts.join, acme["id"], seed.octo["id"], "admin")
    repo = store.write_sync(repositories.create, acme["id"], "engine")
    store.write_sync(repositories.grant, repo["id"], seed.reader["id"], "admin")
    made = [
        store.write_sync(
            hooks.create, target, url=f"https://receiver.example/{name}", events=["push"]
        )
        for name, target in (
            ("own", repo["id"]),
            ("org", organization(acme["id"])),
            ("system", SYSTEM),
        )
    ]
    store.write_sync(outbox.emit, "push", None, repo["id"], {"ref": "refs/heads/main"})
    own, org, system = [int(row["id"]) for row in made]
    for hook_id in (own, org, system):
        attempted(store, hook_id)
    (event,) = store.read_sync(lambda db: event_queries.newest(db, limit=1))
    return Around(world, repo, own, org, system, event["id"])


async def test_an_administrator_of_a_repository_sees_only_its_own(around: Around) -> None:
    token = around.token(around.world.seed.reader, *OWNING)
    async with open_dashboard(around.world.store, token) as browser:
        for path in ("/ui/hooks", "/ui/deliveries", f"/ui/events/{around.event}", "/ui"):
            page = await browser.page(path)
            assert "example/org" not in page, path
            assert "example/system" not in page, path
        assert "example/own" in await browser.page(f"/ui/events/{around.event}")
        for hook_id in (around.org, around.system):
            assert (await browser.get(f"/ui/hooks/{hook_id}")).status_code == 404
            attempt = around.attempt(hook_id)
            assert (await browser.get(f"/ui/deliveries/{attempt}")).status_code == 404
            page = text_of(await browser.page(f"/ui/retry?attempt={attempt}"))
            assert "Nothing to retry" in page
            assert "receiver.example" not in page
        page = await browser.page("/ui/retried?deliveries=1,2,3")
        assert "example/own" in page
        assert "example/org" not in page
        assert "example/system" not in page


async def test_the_overview_counts_the_deliveries_of_the_lists(around: Around) -> None:
    store, seed = around.world.store, around.world.seed
    seen = (
        (around.token(seed.reader, *OWNING), 1),
        (around.token(seed.octo, *OWNING), 2),
        (around.token(seed.octo, "admin:org_hook"), 1),
        (around.world.operator, 3),
    )
    async with open_dashboard(store) as browser:
        for token, many in seen:
            browser.client.cookies.clear()
            await browser.sign_in(token)
            assert f"Delivered {many} " in text_of(await browser.page("/ui"))
            page = text_of(await browser.page("/ui/deliveries"))
            assert f"Show {many} delivery attempt" in page


async def test_the_overview_says_how_many_organizations_it_leaves_out(
    around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, seed = around.world.store, around.world.seed
    later = store.write_sync(accounts.create, "zenith", kind="Organization")
    store.write_sync(accounts.join, later["id"], seed.octo["id"], "admin")
    monkeypatch.setattr(overview, "MOST_COUNTED", 60)
    async with open_dashboard(store, around.token(seed.octo, "admin:org_hook")) as browser:
        page = text_of(await browser.page("/ui"))
        assert "Delivered 0 " in page
        assert "1 organization is left out" in page


def _retry_later(db: Connection, hook_id: int) -> None:
    db.execute(
        "UPDATE delivery SET state = 0, due_at = :due WHERE id = (SELECT max(id) FROM delivery"
        " WHERE hook_id = :hook)",
        due=db.now + HOUR,
        hook=hook_id,
    )


@pytest.mark.parametrize(("scopes", "own"), [(OWNING, 1), (["admin:org_hook"], 0)])
async def test_an_owner_finds_the_deliveries_of_the_organization(
    around: Around, scopes: list[str], own: int
) -> None:
    """They are in the list and its searches, also if the token is for these hooks alone."""
    store, token = around.world.store, around.token(around.world.seed.octo, *scopes)
    guid = store.read_sync(
        lambda db: db.value("SELECT guid FROM event WHERE id = :id", id=around.event)
    )
    place = f"/ui/hooks/{around.org}"
    async with open_dashboard(store, token) as browser:
        for query in ("", "?sort=duration", "?status=success", f"?guid={guid}", "?text=refs/heads"):
            page = await browser.page(f"/ui/deliveries{query}")
            found = re.findall(r'href="/ui/deliveries/(\d+)"', page)
            seen = [around.org, around.own][: own + 1]
            assert sorted(map(int, found)) == sorted(map(around.attempt, seen)), query
        assert f"Show {own + 1} delivery attempt" in text_of(await browser.page("/ui/deliveries"))
        assert "example/org" in (await browser.page("/ui")).partition("Slowest endpoints")[2]
        assert (await browser.post(f"{place}/ping", on=place)).status_code == 303
        attempted(store, around.org, status=503)
        store.write_sync(_retry_later, around.org)
        page = text_of(await browser.page("/ui"))
        assert "Pending 1 " in page
        assert "0 failed for good, 1 wait" in page
        last = f"/ui/deliveries/{around.attempt(around.org)}"
        async with browser.listening("/ui/deliveries/live", after="0") as heard:
            await heard.until(last)


async def test_an_owner_does_not_learn_the_new_name_of_a_repository_that_left(
    around: Around,
) -> None:
    store, seed = around.world.store, around.world.seed
    left = "UPDATE repository SET owner_id = :owner, name = 'hush', private = 1 WHERE id = :id"
    store.write_sync(lambda db: db.execute(left, owner=seed.reader["id"], id=around.repo["id"]))
    attempt = around.attempt(around.org)
    async with open_dashboard(store, around.token(seed.octo, *OWNING)) as browser:
        for path in ("deliveries", "deliveries?sort=time", f"retry?attempt={attempt}"):
            assert "hush" not in await browser.page(f"/ui/{path}"), path
        assert f"/ui/deliveries/{attempt}" in await browser.page("/ui/deliveries")


async def test_an_event_counts_the_deliveries_that_the_viewer_may_see(around: Around) -> None:
    store, seed = around.world.store, around.world.seed
    owner, admin = (around.token(one, *OWNING) for one in (seed.octo, seed.reader))
    own = required(store.read_sync(hooks.by_id, around.own))
    store.write_sync(hooks.update, own, active=False)
    store.write_sync(outbox.emit, "push", None, around.repo["id"], {"ref": "refs/heads/lone"})
    seen = ((admin, 1, True), (owner, 2, False), (around.world.operator, 3, False))
    async with open_dashboard(store) as browser:
        for token, many, is_lone in seen:
            browser.client.cookies.clear()
            await browser.sign_in(token)
            for path in ("/ui/events?event=push", "/ui/events?event=push&sort=event"):
                assert f" B {many} " in text_of(await browser.page(path))
            page = await browser.page("/ui/events?wanted=nobody")
            assert (f"/ui/events/{around.event + 1}" in page) == is_lone


NEW = {
    "repository": "acme", "url": "https://receiver.example/new", "content_type": "json",
    "verify": "1", "active": "1", "which": "some", "events": ["team", "issue_field", "push"],
    "secret": "none",
}  # fmt: skip


def _newest_hook(around: Around) -> Row:
    last = "SELECT max(id) FROM hook"
    store = around.world.store
    return required(store.read_sync(hooks.by_id, store.read_sync(lambda db: db.value(last))))


@pytest.mark.parametrize("who", ["owner", "application", "administrator"])
async def test_an_owner_makes_one_of_the_organization(around: Around, who: str) -> None:
    store, octo = around.world.store, around.world.seed.octo
    acme = required(store.read_sync(accounts.by_login, "acme"))
    _, app = store.write_sync(apps.create, octo["id"], "Loom", url="https://loom.example/")
    given = {"kind": "oauth", "scopes": ["admin:org_hook"], "app_id": app["id"]}
    token, creator = {
        "owner": (around.token(octo, "admin:org_hook"), None),
        "application": (store.write_sync(tokens.create, octo["id"], **given)[0], app["id"]),
        "administrator": ("the token of administrators", None),
    }[who]
    async with open_dashboard(store, token, admin_token="the token of administrators") as browser:
        page = await browser.page("/ui/hooks/new")
        assert ('<option value="acme">' in page) is (who == "owner")
        assert {f'value="{name}"' in page for name in ("team", "issue_field")} == {True}
        answer = await browser.post("/ui/hooks/new", NEW, on="/ui/hooks/new")
        assert answer.status_code == 303, text_of(answer.text)
        made = _newest_hook(around)
        assert answer.headers["location"] == f"/ui/hooks/{made['id']}"
        assert (made["org_id"], made["repo_id"]) == (acme["id"], None)
        assert made["oauth_app_id"] == creator
        assert made["events"] == ["issue_field", "push", "team"]
        assert [row["name"] for row in waiting(store, made["id"])] == ["ping"]
        (entry,) = store.read_sync(
            audit_search.page, AuditFilter(actions=["ui/create-hook"]), limit=2
        )
        assert entry["details"] == {"organization": acme["id"], "id": made["id"]}
        assert "Organization acme" in text_of(await browser.page(f"/ui/hooks/{made['id']}"))


async def test_an_operator_finds_the_changes_of_a_hook(around: Around) -> None:
    store, place = around.world.store, f"/ui/hooks/{around.own}"
    owner = around.token(around.world.seed.octo, *OWNING)
    async with open_dashboard(store, owner) as browser:
        assert "/ui/audit" not in await browser.page(place)
        assert (await browser.post(f"{place}/off", on=place)).status_code == 303
        browser.client.cookies.clear()
        await browser.sign_in(around.world.operator)
        (found,) = re.findall(r'href="(/ui/audit[^"]*)">who changed it', await browser.page(place))
        assert "octo by token" in text_of(await browser.page(found))
        assert "disable-hook" in text_of(await browser.page(found))


async def test_nobody_else_makes_one_of_an_organization(around: Around) -> None:
    """The messages do not say whether there is such an organization."""
    store, seed = around.world.store, around.world.seed
    last = _newest_hook(around)["id"]
    tried = [(seed.reader, "acme", OWNING), (seed.octo, "acme", ["write:repo_hook"])]
    tried += [(seed.octo, name, OWNING) for name in ("octo", "nobody")]
    async with open_dashboard(store) as browser:
        for account, named, scopes in tried:
            browser.client.cookies.clear()
            await browser.sign_in(around.token(account, *scopes))
            page = await browser.page("/ui/hooks/new")
            assert ('value="team"' in page) is (scopes == OWNING)
            assert ("scope admin:org_hook" in text_of(page)) is (scopes != OWNING)
            form = NEW | {"repository": named, "events": "push"}
            answer = await browser.post("/ui/hooks/new", form, on="/ui/hooks/new")
            assert answer.status_code == 422
            assert f"organization '{named}' whose hooks you may change" in text_of(answer.text)
    assert _newest_hook(around)["id"] == last


async def test_a_hook_of_a_repository_gets_no_events_of_organizations(around: Around) -> None:
    token = around.token(around.world.seed.octo, *OWNING)
    async with open_dashboard(around.world.store, token) as browser:
        form = NEW | {"repository": "acme/engine"}
        answer = await browser.post("/ui/hooks/new", form, on="/ui/hooks/new")
        assert answer.status_code == 422
        assert 'id="events-wrong"' in answer.text
        assert 'value="team" checked' in answer.text


async def test_a_new_hook_of_an_organization_is_tried(around: Around) -> None:
    trials, token = Trials(), around.token(around.world.seed.octo, *OWNING)
    last = _newest_hook(around)["id"]
    async with open_dashboard(around.world.store, token, trials=trials) as browser:
        form = NEW | {"trial_event": "push"}
        answer = await browser.post("/ui/hooks/new/try", form, on="/ui/hooks/new")
        assert answer.status_code == 200, text_of(answer.text)
        (asked,) = trials.asked
        assert asked.target == organization(around.repo["owner_id"])
        assert b"refs/heads/main" in asked.body
    assert _newest_hook(around)["id"] == last


async def test_an_owner_sees_and_changes_those_of_the_organization(around: Around) -> None:
    store, token = around.world.store, around.token(around.world.seed.octo, *OWNING)
    async with open_dashboard(store, token) as browser:
        assert "acme" in text_of(await browser.page("/ui/hooks"))
        page = await browser.page(f"/ui/hooks/{around.org}")
        assert "Organization acme" in text_of(page)
        assert f"/ui/hooks/{around.org}/test" not in page
        await browser.page(f"/ui/deliveries/{around.attempt(around.org)}")
        page = await browser.page(f"/ui/retry?attempt={around.attempt(around.org)}")
        assert "Retry 1 delivery?" in text_of(page)
        assert "example/org" in await browser.page(f"/ui/events/{around.event}")
        place = f"/ui/hooks/{around.org}"
        assert (await browser.post(f"{place}/ping", on=place)).status_code == 303
        again = f"/ui/deliveries/{around.attempt(around.org)}"
        assert (await browser.post(f"{again}/again", on=again)).status_code == 303
        assert [row["name"] for row in waiting(store, around.org)] == ["push", "ping", "push"]
        chosen = {"hook": str(around.org), "repository": "", "event": "", "status": ""}
        assert (await browser.post("/ui/replay/start", chosen, on="/ui/replay")).status_code == 303
        await browser.page("/ui/replay/1")
        assert (await browser.get(f"/ui/hooks/{around.system}")).status_code == 404


async def test_an_oauth_application_sees_and_changes_its_own(around: Around) -> None:
    store, octo = around.world.store, around.world.seed.octo
    acme = required(store.read_sync(accounts.by_login, "acme"))
    _, app = store.write_sync(apps.create, octo["id"], "Loom", url="https://loom.example/")
    mine = store.write_sync(
        hooks.create,
        organization(acme["id"]),
        url="https://receiver.example/loom",
        events=["push"],
        oauth_app_id=app["id"],
    )["id"]
    given = {"kind": "oauth", "scopes": OWNING, "app_id": app["id"]}
    async with open_dashboard(
        store, store.write_sync(tokens.create, octo["id"], **given)[0], last=False
    ) as browser:
        for path in ("/ui", "/ui/hooks", "/ui/deliveries", f"/ui/events/{around.event}"):
            assert "example/org" not in await browser.page(path), path
        for path in (f"/ui/hooks/{around.org}", f"/ui/hooks/{around.org}/edit"):
            assert (await browser.get(path)).status_code == 404
        assert (
            await browser.get(f"/ui/deliveries/{around.attempt(around.org)}")
        ).status_code == 404
        at = f"/ui/hooks/{mine}"
        form = {"confirm": "1"}
        lost = await browser.post(f"/ui/hooks/{around.org}/delete", form, on=at)
        assert lost.status_code == 404
        assert (await browser.post(f"{at}/off", on=at)).status_code == 303
    async with open_dashboard(store, around.token(octo, *OWNING), last=False) as browser:
        page = await browser.page("/ui/hooks")
        assert "example/org" in page
        assert "example/loom" in page
    caller = store.read_sync(
        credentials.authenticate, store.write_sync(tokens.create, octo["id"], **given)[0]
    )
    found = store.read_sync(DashboardViewer(caller).changeable, [around.org, mine])
    assert found == [mine]
    await store.close()


async def test_a_repository_limits_the_deliveries_to_a_hook_of_many(around: Around) -> None:
    """Such a hook belongs to none, and gets the events of each."""
    store, world = around.world.store, around.world
    spare = store.write_sync(repositories.create, around.repo["owner_id"], "spare")
    store.write_sync(outbox.emit, "push", None, spare["id"], {"ref": "refs/heads/spare"})
    for hook_id in (around.org, around.system):
        attempted(store, hook_id)
    owner = around.token(world.seed.octo, *OWNING)
    async with open_dashboard(store) as browser:
        for token, hook_id in ((owner, around.org), (world.operator, around.system)):
            browser.client.cookies.clear()
            await browser.sign_in(token)
            for named, many in (("", 2), ("acme/engine", 1), ("acme", 2), ("octo/hello", 0)):
                place = f"/ui/deliveries?hook={hook_id}&repository={named}"
                for more in ("", "&sort=-duration"):
                    page = await browser.page(f"{place}{more}")
                    assert page.count('class="guid"') == many, f"{place}{more}"


async def test_the_oauth_token_of_a_site_administrator_sees_no_other_hooks(around: Around) -> None:
    store = around.world.store
    root = required(store.read_sync(accounts.by_login, "root"))
    _, app = store.write_sync(apps.create, root["id"], "Loom", url="https://loom.example/")
    given = {"kind": "oauth", "scopes": OWNING, "app_id": app["id"]}
    async with open_dashboard(
        store, store.write_sync(tokens.create, root["id"], **given)[0]
    ) as browser:
        page = await browser.page("/ui/hooks")
        assert "example/own" in page
        for url in ("example/org", "example/system"):
            assert url not in page


async def test_an_owner_finds_those_of_the_organization(around: Around) -> None:
    """Both by the id and by the URL, and in each list alike."""
    store, octo = around.world.store, around.world.seed.octo
    event = required(store.read_sync(event_queries.get, around.event))
    async with open_dashboard(store, around.token(octo, *OWNING)) as browser:
        for hook in (around.org, "example/org"):
            for more in ("", "&sort=-duration", f"&guid={event['guid']}", "&text=refs"):
                page = await browser.page(f"/ui/deliveries?hook={hook}{more}")
                assert page.count('class="guid"') == 1, f"{hook}{more}"
            page = text_of(await browser.page(f"/ui/replay?hook={hook}&count=1"))
            assert "Deliveries to be created 1" in page, hook
            live = f"/ui/deliveries/live?hook={hook}&after=0"
            async with browser.listening(live) as heard:
                await heard.until('"event":"attempts"')
        for hook in (around.system, "example/system"):
            assert 'class="guid"' not in await browser.page(f"/ui/deliveries?hook={hook}")
            page = text_of(await browser.page(f"/ui/replay?hook={hook}&count=1"))
            assert "Deliveries to be created" not in page, hook


@pytest.mark.parametrize(
    ("scope", "is_offered"), [("admin:org_hook", True), ("read:repo_hook", False)]
)
async def test_a_replay_is_offered_to_a_token_that_may_start_it(
    around: Around, scope: str, is_offered: bool
) -> None:
    """The hook of an organization needs no scope of repositories' hooks."""
    place = f"/ui/replay?hook={around.org if is_offered else around.own}&count=1"
    token = around.token(around.world.seed.octo, scope)
    async with open_dashboard(around.world.store, token) as browser:
        page = await browser.page(place)
        assert "Deliveries to be created 1" in text_of(page)
        assert ('form="start"' in page) is is_offered
        assert ("a token that may change these hooks" in page) is not is_offered


async def test_an_owner_retries_and_silences_with_the_scope_of_organizations_alone(
    around: Around,
) -> None:
    store = around.world.store
    token = around.token(around.world.seed.octo, "admin:org_hook")
    form = {"attempt": str(around.attempt(around.org)), "hours": "1"}
    async with open_dashboard(store, token) as browser:
        assert "/ui/hooks/new" in await browser.page("/ui/hooks")
        listed = f"/ui/deliveries?hook={around.org}"
        assert (await browser.page(listed)).count('form="retry"') == 1
        async with browser.listening(f"/ui/deliveries/live?hook={around.org}&after=0") as heard:
            assert "checkbox" in await heard.until('"event":"attempts"')
        assert (await browser.post("/ui/retry", form, on=listed)).status_code == 303
        assert [bool(one["redelivery"]) for one in waiting(store, around.org)] == [False, True]
        host = "/ui/hosts/receiver.example"
        assert f'action="{host}/silence"' in await browser.page(host)
        assert (await browser.post(f"{host}/silence", form, on=host)).status_code == 303
    silenced = store.read_sync(lambda db: db.tuples("SELECT hook_id FROM hook_silence"))
    assert silenced == [(around.org,)]


@pytest.mark.parametrize("kind", ["own", "org", "system"])
async def test_each_hook_has_its_pages_and_can_be_deleted(around: Around, kind: str) -> None:
    root = required(around.world.store.read_sync(accounts.by_login, "root"))
    token = around.token(root, *OWNING, "admin:enterprise")
    named = {"own": "acme/engine", "org": "acme", "system": "whole installation"}[kind]
    at = f"/ui/hooks/{getattr(around, kind)}"
    async with open_dashboard(around.world.store, token) as browser:
        for path in (at, f"{at}/edit", f"{at}/trends", f"{at}/send"):
            assert f"example/{kind}" in await browser.page(path), path
        page = text_of(await browser.page(f"{at}/delete"))
        assert f"https://receiver.example/{kind} ({named}) receives no more" in page
        answer = await browser.post(f"{at}/delete", on=f"{at}/delete")
        assert answer.headers["location"] == "/ui/hooks"
        assert f"example/{kind}" not in await browser.page("/ui/hooks")


async def test_an_owner_sees_events_of_the_organization_alone(around: Around) -> None:
    acme = required(around.world.store.read_sync(accounts.by_login, "acme"))
    member = {"organization": {"id": acme["id"], "login": "acme"}}
    receipt = around.world.store.write_sync(outbox.emit, "membership", "added", 0, member)
    token = around.token(around.world.seed.octo, *OWNING)
    async with open_dashboard(around.world.store, token) as browser:
        page = await browser.page(f"/ui/events/{receipt.event_id}")
        assert "Organization acme" in text_of(page)


async def test_new_rows_have_the_columns_of_the_page(around: Around) -> None:
    store, octo = around.world.store, around.world.seed.octo
    acme = required(store.read_sync(accounts.by_login, "acme"))
    rights = {"organization_hooks": "read", "repository_hooks": "write"}
    kind = {"kind": "fine_grained", "target_id": acme["id"]}
    token, _ = store.write_sync(tokens.create, octo["id"], permissions=rights, **kind)
    async with open_dashboard(store, token) as browser:
        for hook_id, many in ((around.own, 2), (around.org, 0)):
            at = f"/ui/hooks/{hook_id}"
            assert (await browser.page(at)).count('type="checkbox"') == many
            async with browser.listening(f"{at}/live?after=0") as heard:
                news = await heard.until('"event":"attempts"')
            assert ("checkbox" in news) == bool(many)


async def test_the_scope_of_the_token_is_needed(around: Around) -> None:
    token = around.token(around.world.seed.octo, "repo")
    async with open_dashboard(around.world.store, token) as browser:
        assert "example/org" not in await browser.page("/ui/hooks")
        assert (await browser.get(f"/ui/hooks/{around.org}")).status_code == 404


async def test_an_operator_sees_and_changes_all(around: Around) -> None:
    root = required(around.world.store.read_sync(accounts.by_login, "root"))
    token = around.token(root, *OWNING, "admin:enterprise")
    async with open_dashboard(around.world.store, token) as browser:
        page = text_of(await browser.page("/ui/hooks"))
        assert "whole installation" in page
        assert "acme" in page
        for hook_id in (around.org, around.system):
            place = f"/ui/hooks/{hook_id}"
            await browser.page(place)
            assert (await browser.post(f"{place}/off", on=place)).status_code == 303
            row = required(around.world.store.read_sync(hooks.by_id, hook_id))
            assert not row["active"]


async def test_a_link_shows_one(around: Around) -> None:
    value, _ = around.world.store.write_sync(
        hook_links.create, around.system, "", "root", 3_600_000_000
    )
    async with open_dashboard(around.world.store) as browser:
        place = f"/ui/shared?link={value}"
        assert (await browser.post("/ui/shared", {"link": value}, on=place)).status_code == 303
        assert "whole installation" in text_of(await browser.page(f"/ui/hooks/{around.system}"))
        assert (await browser.get(f"/ui/hooks/{around.org}")).status_code == 404
        # The only page of the menu that a guest may see is the page of the hook.
        refused = await browser.get("/ui")
        assert refused.status_code == 403
        assert refused.text.count(f'href="/ui/hooks/{around.system}"') == 2
        assert 'href="/ui"' not in refused.text


async def test_a_link_that_is_used_again_ends_no_session_of_others(
    around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST", 2)
    store = around.world.store
    value, link = store.write_sync(hook_links.create, around.system, "", "root", HOUR)
    other = store.write_sync(sessions.begin, link_id=link["id"])
    store.write_sync(lambda db: db.execute("UPDATE ui_session SET seen_at = seen_at - 1"))
    form, place = {"link": value}, f"/ui/shared?link={value}"
    async with open_dashboard(store) as browser:
        for _ in range(2):
            assert (await browser.post("/ui/shared", form, on=place)).status_code == 303
        assert store.read_sync(sessions.find, other, HOUR) is not None


async def test_examples_and_trials_of_an_organization_s_hook(around: Around) -> None:
    trials, at = Trials(), f"/ui/hooks/{around.org}"
    token = around.token(around.world.seed.octo, *OWNING)
    form = {"url": "https://receiver.example/org", "content_type": "json", "which": "every"}
    async with open_dashboard(around.world.store, token, trials=trials) as browser:
        page = await browser.page(f"{at}/send?event=push")
        assert "refs/heads/main" in page
        sent = {"event": "push", "payload": '{"ref": "tried"}'}
        answer = await browser.post(f"{at}/send", sent, on=f"{at}/send")
        assert answer.status_code == 303, text_of(answer.text)
        assert [row["repo_id"] for row in waiting(around.world.store, around.org)][-1] == 0
        answer = await browser.post(f"{at}/try", {**form, "trial_event": "push"}, on=f"{at}/edit")
        assert answer.status_code == 200, text_of(answer.text)
    asked = trials.asked[-1]
    assert (asked.event, asked.repo_id) == ("push", around.repo["id"])
    assert asked.target is not None
    assert asked.target.kind == "organization"
    assert asked.as_row()["repo_id"] is None


async def test_examples_without_any_repository(store: Store, seed: Any) -> None:
    world = World(store, seed)
    alone = store.write_sync(accounts.create, "alone", kind="Organization")
    store.write_sync(accounts.join, alone["id"], seed.octo["id"], "admin")
    made = store.write_sync(
        hooks.create,
        organization(alone["id"]),
        url="https://receiver.example/alone",
        events=["organization"],
    )
    token = store.write_sync(tokens.create, seed.octo["id"], scopes=OWNING)[0]
    at = f"/ui/hooks/{made['id']}/send"
    async with open_dashboard(world.store, token, trials=Trials()) as browser:
        assert "made up" in await browser.page(f"{at}?event=organization")
        sent = {"event": "organization", "payload": '{"action": "member_added"}'}
        assert (await browser.post(at, sent, on=at)).status_code == 303
        assert len(waiting(store, made["id"])) == 1


async def test_examples_of_an_app_s_hook_are_made_up(store: Store, around: Around) -> None:
    vendor = store.write_sync(accounts.create, "vendor")
    _, app = store.write_sync(
        apps.create, vendor["id"], "Mill", url="https://m.example/", kind=KIND
    )
    assert app["id"] == around.world.seed.octo["id"]
    made = store.write_sync(app_hooks.create, app, url="https://receiver.example/app")
    store.write_sync(
        outbox.emit, "push", None, around.world.hidden["repo_id"], {"ref": "refs/heads/own"}
    )
    trials, at = Trials(), f"/ui/hooks/{made['id']}"
    form = {"url": "https://receiver.example/app", "content_type": "json", "which": "every"}
    async with open_dashboard(store, around.world.operator, trials=trials) as browser:
        page = await browser.page(f"{at}/send?event=push")
        assert "made up" in page
        answer = await browser.post(f"{at}/try", {**form, "trial_event": "push"}, on=f"{at}/edit")
        assert answer.status_code == 200, text_of(answer.text)
        assert b"refs/heads/own" not in trials.asked[-1].body
        sent = {"event": "push", "payload": '{"ref": "tried"}'}
        assert (await browser.post(f"{at}/send", sent, on=f"{at}/send")).status_code == 303
        assert [row["repo_id"] for row in waiting(store, made["id"])] == [0]


async def test_an_example_for_the_installation_s_hook_has_no_repository(around: Around) -> None:
    at = f"/ui/hooks/{around.system}/send"
    async with open_dashboard(around.world.store, around.world.operator) as browser:
        sent = {"event": "push", "payload": '{"ref": "tried"}'}
        assert (await browser.post(at, sent, on=at)).status_code == 303
        assert [row["repo_id"] for row in waiting(around.world.store, around.system)][-1] == 0


async def test_the_form_offers_operational_events_to_the_installation_alone(
    store: Store, around: Around
) -> None:
    row = store.read_sync(hooks.by_id, around.system)
    store.write_sync(hooks.update, row, events=["push", "backlog"])
    root = required(store.read_sync(accounts.by_login, "root"))
    value = around.token(root, "repo", "admin:org_hook", "admin:repo_hook", "read:enterprise")
    async with open_dashboard(store, value, last=False) as browser:
        at = f"/ui/hooks/{around.system}"
        page = await browser.page(f"{at}/edit")
        form = {
            "url": "https://receiver.example/system",
            "content_type": "json",
            "verify": "1",
            "which": "some",
            "events": re.findall(r'name="events" value="([^"]+)"[^>]*checked', page),
        }
        assert sorted(form["events"]) == ["backlog", "push"]
        answer = await browser.post(f"{at}/edit", form, on=f"{at}/edit")
        assert answer.status_code == 303, text_of(answer.text)
        assert 'value="backlog"' not in await browser.page(f"/ui/hooks/{around.own}/edit")
    assert set(store.read_sync(hooks.by_id, around.system)["events"]) == {"push", "backlog"}
    await store.close()
