"""Lists of the dashboard leave out organizations that refuse a site administrator's token."""

from dataclasses import dataclass
from typing import Any

import pytest
from assertions import attempted
from dashboard_client import open_dashboard, text_of
from transactions import transaction
from ui_world import World, deliver, hook
from websub_followers import follow

from store import Connection, Row, Store
from store.accounts import accounts, administrators, sso, tokens
from store.alerts import alerts
from store.alerts.alerts import NewAlert
from store.alerts.rules import BACKLOG_HIGH
from store.clock import DAY
from store.delivery import deliveries, outbox
from store.delivery.websub.websub_topics import Topic
from store.hooks import hooks
from store.hooks.hook_targets import SYSTEM, organization
from store.repositories import interaction_limits, repositories, repository_removal

ADMIN = "the administrators' token"
SCOPES = ["repo", "admin:org_hook", "admin:enterprise"]
LISTS = (
    "",
    "/problems",
    "/hooks",
    "/deliveries",
    "/deliveries?text=hush",
    "/events",
    "/events?event=issues",
    "/catalogue/issues",
    "/topics",
    "/topics/followers",
    "/limits",
    "/replay?count=1&repository=acme/kit",
)
HIDDEN = ("acme/kit", "kit.example", "receiver.example/acme", "hush")


@dataclass
class Guarded:
    """acme enforces single sign-on, and guild does not. Each has a hook, and acme has acme/kit.

    acme/kit has a failing hook at kit.example, a follower and an interaction limit.
    `token` is a site administrator's, and `event` belongs to acme alone.
    """

    acme: Row
    kit: Row
    token: str
    token_id: int
    event: int


@pytest.fixture
def guarded(store: Store, seed: Any) -> Guarded:
    world = World(store, seed)

    world.send(world.good, "mine")
    with transaction(store) as db:
        acme, guild = (accounts.create(db, n, kind="Organization") for n in ("acme", "guild"))
        for one in (acme, guild):
            url = f"https://receiver.example/{one['login']}"
            hooks.create(db, organization(one["id"]), url=url, events=["push"])
        kit = repositories.create(db, acme["id"], "kit")
        made = hook(db, kit["id"], "kit", url="https://kit.example/", events=["issues"])
        deliver(db, made, ["kit-1"], name="issues", body=b'{"title":"hush"}', status_code=500)
        fail(db, made["id"])
        follow(db, Topic(kit["id"], "push", "https://forge.example/acme/kit/events/push"))
        interaction_limits.limit_repository(db, kit, "existing_users", db.now + DAY)
        member = {"organization": {"id": acme["id"], "login": "acme"}}
        event = outbox.emit(db, "membership", "added", 0, member)
        sso.enforce(db, acme["id"], True)
        root = accounts.by_login(db, "root")
        assert root is not None
        value, row = tokens.create(db, root["id"], scopes=SCOPES)
        return Guarded(acme, kit, value, row["id"], event.event_id)


def fail(db: Connection, hook_id: int) -> None:
    db.execute("UPDATE hook SET failing_since = :now WHERE id = :id", now=db.now, id=hook_id)


async def pages(store: Store, token: str, **settings: Any) -> dict[str, str]:
    """Return each list's HTML, by path."""
    async with open_dashboard(store, token, last=False, **settings) as browser:
        return {path: await browser.page(f"/ui{path}") for path in LISTS}


async def test_lists_leave_out_owners_that_refuse_the_token(store: Store, guarded: Guarded) -> None:
    for path, page in (await pages(store, guarded.token)).items():
        shown = text_of(page)
        assert not [one for one in HIDDEN if one in shown], path
    store.write_sync(sso.authorize, guarded.token_id, guarded.acme["id"])
    found = await pages(store, guarded.token)
    assert "acme/kit" in found["/topics"]
    assert "hush" in found["/catalogue/issues"]


async def test_other_owners_stay_in_the_lists(store: Store, guarded: Guarded) -> None:
    found = await pages(store, guarded.token)
    for path in ("/hooks", "/topics", "/deliveries", "/events"):
        assert "octo/hello" in found[path], path
    assert "theirs/thing" in found["/hooks"]
    assert "receiver.example/guild" in found["/hooks"]


async def test_lists_of_hooks_deliveries_and_events_name_no_repositories(
    store: Store, guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(administrators, "MOST", 0)
    made = store.write_sync(
        hooks.create, SYSTEM, url="https://receiver.example/all", events=["push"]
    )
    store.write_sync(outbox.emit, "ping", None, 0, {"zen": "Ring once."}, only_hook=made["id"])
    attempted(store, made["id"])
    found = await pages(store, guarded.token)
    assert "octo/hello" not in found["/topics"]
    for path in ("/hooks", "/deliveries", "/events"):
        assert "octo/hello" in found[path], path
    for path in ("/hooks", "/deliveries"):
        assert f'href="/ui/hooks/{made["id"]}"' in found[path], path


async def test_a_named_repository_shows_no_deliveries_of_other_owners(
    store: Store, guarded: Guarded
) -> None:
    """The hook of the installation also gets the events of an owner that refuses the token."""
    made = store.write_sync(
        hooks.create, SYSTEM, url="https://receiver.example/all", events=["push"]
    )
    store.write_sync(
        outbox.emit, "push", None, guarded.kit["id"], {"ref": "hush"}, only_hook=made["id"]
    )
    attempted(store, made["id"])
    async with open_dashboard(store, guarded.token) as browser:
        for more in ("", "&repository=octo/hello", "&repository=octo", "&repository=acme/kit"):
            for order in ("", "&sort=-duration"):
                page = await browser.page(f"/ui/deliveries?hook={made['id']}{more}{order}")
                assert 'class="guid"' not in page, f"{more}{order}"


async def test_the_administrators_token_sees_every_owner(store: Store, guarded: Guarded) -> None:
    for path, page in (await pages(store, ADMIN, admin_token=ADMIN)).items():
        shown = text_of(page)
        assert [one for one in HIDDEN if one in shown], path


async def test_events_of_a_deleted_repository_are_left_out_while_an_owner_is_hidden(
    store: Store, guarded: Guarded
) -> None:
    event, attempt = store.read_sync(kit_rows)
    store.write_sync(lambda db: repository_removal.remove(db, guarded.kit))
    for path, page in (await pages(store, guarded.token)).items():
        assert not [one for one in HIDDEN if one in text_of(page)], path
    page = (await pages(store, guarded.token))["/events"]
    assert f"/ui/events/{event}" not in page
    async with open_dashboard(store, guarded.token, last=False) as browser:
        for path in (f"/ui/events/{event}", f"/ui/deliveries/{attempt}"):
            assert (await browser.get(path)).status_code == 404
            store.write_sync(sso.authorize, guarded.token_id, guarded.acme["id"])
            assert "hush" in await browser.page(path)
            store.write_sync(unauthorize, guarded.token_id)


def kit_rows(db: Connection) -> tuple[int, int]:
    """Return the ids of the event of acme/kit and of its attempt."""
    (found,) = db.tuples(
        "SELECT e.id, a.id FROM event e JOIN attempt a ON a.event_id = e.id WHERE e.name = 'issues'"
    )
    return found[0], found[1]


def unauthorize(db: Connection, token_id: int) -> None:
    db.execute("DELETE FROM token_authorization WHERE token_id = :id", id=token_id)


async def test_a_hook_of_the_installation_shows_nothing_of_hidden_owners(
    store: Store, guarded: Guarded
) -> None:
    url = "https://receiver.example/all"
    made = store.write_sync(hooks.create, SYSTEM, url=url, events=["issues"])
    event, _ = store.read_sync(kit_rows)
    store.write_sync(deliveries.enqueue, event, made["id"], guarded.kit["id"], redelivery=False)
    attempted(store, made["id"])
    (attempt,) = store.read_sync(
        lambda db: db.tuples("SELECT id FROM attempt WHERE hook_id = :id", id=made["id"])
    )[0]
    at = f"/ui/hooks/{made['id']}"
    async with open_dashboard(store, guarded.token, last=False) as browser:
        assert f"/ui/deliveries/{attempt}" not in await browser.page(at)
        shown = text_of(await browser.page(f"{at}/send?event=issues"))
        assert "made up" in shown
        assert not [one for one in ("acme/kit", "hush") if one in shown]
        assert (await browser.get(f"/ui/deliveries/{attempt}")).status_code == 403
        store.write_sync(sso.authorize, guarded.token_id, guarded.acme["id"])
        assert f"/ui/deliveries/{attempt}" in await browser.page(at)
        for path in (f"{at}/send?event=issues", f"/ui/deliveries/{attempt}"):
            assert "hush" in text_of(await browser.page(path)), path


async def test_a_filter_is_not_tested_with_events_of_hidden_owners(
    store: Store, guarded: Guarded
) -> None:
    options = {"filter": {"payload": {"title": "x"}}}
    url = "https://receiver.example/all"
    made = store.write_sync(hooks.create, SYSTEM, url=url, events=["issues"], options=options)
    event, _ = store.read_sync(kit_rows)
    at, form = f"/ui/hooks/{made['id']}", {"event": str(event), "payload": ""}
    async with open_dashboard(store, guarded.token, last=False) as browser:
        refused = await browser.post(f"{at}/filter", form, on=at)
        assert refused.status_code == 403
        assert "hush" not in refused.text
        store.write_sync(sso.authorize, guarded.token_id, guarded.acme["id"])
        assert "hush" in (await browser.post(f"{at}/filter", form, on=at)).text


async def test_keys_of_hidden_owners_are_not_shown(store: Store, guarded: Guarded) -> None:
    options = {"ordering": {"path": "/title"}}
    url = "https://receiver.example/all"
    made = store.write_sync(hooks.create, SYSTEM, url=url, events=["issues"], options=options)
    event, _ = store.read_sync(kit_rows)
    store.write_sync(deliveries.enqueue, event, made["id"], guarded.kit["id"], redelivery=False)
    store.write_sync(_order, made["id"])
    async with open_dashboard(store, guarded.token, last=False) as browser:
        assert "hush" not in text_of(await browser.page(f"/ui/hooks/{made['id']}"))
        store.write_sync(sso.authorize, guarded.token_id, guarded.acme["id"])
        assert "hush" in text_of(await browser.page(f"/ui/hooks/{made['id']}"))


def _order(db: Connection, hook_id: int) -> None:
    """Give the waiting delivery of a hook the place that an accepted event would have."""
    sql = "UPDATE delivery SET ordering_key = 'hush', sequence = 1 WHERE hook_id = :id"
    db.execute(sql, id=hook_id)


async def test_operators_keep_the_hooks_of_the_installation(store: Store, guarded: Guarded) -> None:
    url = "https://receiver.example/all"
    made = store.write_sync(hooks.create, SYSTEM, url=url, events=["push"])
    (event, repo_id) = store.read_sync(
        lambda db: db.tuples("SELECT id, repo_id FROM event WHERE name = 'push'")
    )[0]
    store.write_sync(deliveries.enqueue, event, made["id"], repo_id, redelivery=False)
    attempted(store, made["id"], status=500)
    store.write_sync(fail, made["id"])
    (attempt,) = store.read_sync(
        lambda db: db.tuples("SELECT id FROM attempt WHERE hook_id = :id", id=made["id"])
    )[0]
    async with open_dashboard(store, guarded.token, last=False) as browser:
        assert "/ui/problem?host=receiver.example" in await browser.page("/ui/problems")
        for path in ("", "/hooks?state=unhealthy", f"/events/{event}"):
            assert f'href="/ui/hooks/{made["id"]}"' in await browser.page(f"/ui{path}"), path
        page = await browser.page(f"/ui/retry?attempt={attempt}")
        assert "Retry 1 delivery?" in text_of(page)


async def test_operators_keep_the_problems_of_the_installation(
    store: Store, seed: Any, guarded: Guarded
) -> None:
    store.write_sync(alerts.open_all, [NewAlert(BACKLOG_HIGH, alerts.INSTALLATION)])
    async with open_dashboard(store, guarded.token, last=False) as browser:
        assert "/ui/problem?host=installation" in await browser.page("/ui/problems")
    async with open_dashboard(store, seed.token, last=False) as browser:
        assert "/ui/problem?host=installation" not in await browser.page("/ui/problems")


async def test_owners_that_refuse_the_token_are_not_replayed(
    store: Store, guarded: Guarded
) -> None:
    async with open_dashboard(store, guarded.token) as browser:
        assert (await browser.get(f"/ui/events/{guarded.event}")).status_code == 403
        form = {"since": "2026-01-01T00:00"}
        everything = await browser.post("/ui/replay/start", form, on="/ui/replay")
        assert everything.status_code == 422
