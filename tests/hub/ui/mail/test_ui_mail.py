"""Alerts by mail in the dashboard: the mails, a test message, and mail about a hook."""

from typing import Any

import pytest
from dashboard_client import open_dashboard, text_of
from ui_world import World

from hub.auth import repository_access
from hub.auth.access import Access
from hub.auth.credentials import Caller
from store import Connection, Row, Store
from store.accounts import emails, tokens
from store.clock import MovableClock
from store.delivery import hook_removal
from store.mail import outbox, receivers, subscriptions

OCTO = "octo@people.example"
ON: dict[str, Any] = {
    "mail_host": "mail.example",
    "mail_from": "tocsin@forge.example",
    "ui_idle": 10**6,
}


@pytest.fixture
def world(store: Store, seed: Any) -> World:
    store.write_sync(emails.add, seed.octo["id"], [OCTO], verified=True)
    return World(store, seed)


def gets(world: World) -> bool:
    rows = world.store.read_sync(receivers.of_hook, world.failing["id"])
    return [row["login"] for row in rows] == ["octo"]


async def test_an_owner_unsubscribes_from_a_hook_and_subscribes_again(world: World) -> None:
    at = f"/ui/hooks/{world.failing['id']}"
    scopes = ["write:repo_hook", "user:email"]
    value, _ = world.store.write_sync(tokens.create, world.seed.octo["id"], scopes=scopes)
    async with open_dashboard(world.store, value, **ON) as browser:
        assert "You get mail if something is wrong" in text_of(await browser.page(at))
        assert (await browser.post(f"{at}/mail/stop", on=at)).status_code == 303
        assert not gets(world)
        page = text_of(await browser.page(at))
        assert "You have unsubscribed" in page
        assert "Subscribe again" in page
        assert (await browser.post(f"{at}/mail/start", on=at)).status_code == 303
        assert gets(world)
        await browser.post(f"{at}/mail/stop", on=at)
        page = text_of(await browser.page("/ui/mail"))
        assert OCTO in page
        assert f"hook {world.failing['id']} of octo/hello (receiver.example)" in page
        form = {"hook": str(world.failing["id"])}
        assert (await browser.post("/ui/mail/subscribe", form, on=at)).status_code == 303
        assert gets(world)
        assert "unsubscribed" not in text_of(await browser.page("/ui/mail"))
        # If the user has not unsubscribed from a hook, subscribing again changes nothing.
        for given, status in (("", 409), ("x", 409), ("9" * 30, 303)):
            answer = await browser.post("/ui/mail/subscribe", {"hook": given}, on=at)
            assert answer.status_code == status
        assert gets(world)


async def test_a_token_shows_the_address_and_the_hooks_that_it_may_read(world: World) -> None:
    hook_id = world.failing["id"]
    world.store.write_sync(subscriptions.unsubscribe, world.seed.octo["id"], [hook_id])
    for scopes, address, hook in (
        ([], False, False),
        (["user:email"], True, False),
        (["read:repo_hook"], False, True),
    ):
        value, _ = world.store.write_sync(tokens.create, world.seed.octo["id"], scopes=scopes)
        async with open_dashboard(world.store, value, last=False, **ON) as browser:
            page = text_of(await browser.page("/ui/mail"))
        shown = OCTO in page, f"hook {hook_id} of octo/hello" in page
        assert shown == (address, hook), scopes
        assert ("or the permission email_addresses, shows it here" in page) != address
    await world.store.close()


async def test_hooks_of_one_repository_share_a_check_of_the_token(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody may have left hundreds of hooks."""
    hook_ids = [world.failing["id"], world.good["id"]]
    world.store.write_sync(subscriptions.unsubscribe, world.seed.octo["id"], hook_ids)
    checked: list[int] = []
    check = repository_access.check

    def checking(db: Connection, wanted: Access, caller: Caller | None, repo: Row) -> Any:
        checked.append(repo["id"])
        return check(db, wanted, caller, repo)

    monkeypatch.setattr(repository_access, "check", checking)
    async with open_dashboard(world.store, world.seed.token, **ON) as browser:
        page = text_of(await browser.page("/ui/mail"))
    assert all(f"hook {hook_id} of octo/hello" in page for hook_id in hook_ids)
    assert checked == [world.failing["repo_id"]]
    await world.store.close()


async def test_the_mail_of_others_cannot_be_changed(world: World) -> None:
    at = f"/ui/hooks/{world.failing['id']}"
    async with open_dashboard(world.store, world.seed.reader_token, **ON) as browser:
        answer = await browser.post(f"{at}/mail/stop", on="/ui")
        assert answer.status_code in (403, 404)
        assert (await browser.post("/ui/mail/test", {"address": OCTO}, on="/ui")).status_code == 403
        assert OCTO not in await browser.page("/ui/mail")
    assert gets(world)
    assert world.store.read_sync(outbox.list_recent, 9) == []


async def test_an_operator_sends_a_test_message_and_sees_its_status(
    world: World, clock: MovableClock
) -> None:
    async with open_dashboard(world.store, world.operator, **ON) as browser:
        assert "No mail has been made yet" in text_of(await browser.page("/ui/mail"))
        answer = await browser.post("/ui/mail/test", {"address": OCTO}, on="/ui/mail")
        assert answer.status_code == 303
        page = text_of(await browser.page("/ui/mail"))
        assert f"{OCTO} waiting test 0" in page
        assert "mail.example" in page
        (row,) = world.store.read_sync(outbox.list_recent, 9)
        assert "not sent" not in text_of(await browser.page("/ui/problems"))
        world.store.write_sync(outbox.record_failed, row["id"], "550 <b>unknown</b>")
        page = await browser.page("/ui/mail")
        assert "550 &lt;b&gt;unknown&lt;/b&gt;" in page
        assert "1 mail was not sent" in text_of(await browser.page("/ui/problems"))
        clock.advance(86_401)
        assert "not sent" not in text_of(await browser.page("/ui/problems"))
        wrong = await browser.post("/ui/mail/test", {"address": "a@b\r\nBcc: c@d.e"}, on="/ui/mail")
        assert wrong.status_code == 422
    assert len(world.store.read_sync(outbox.list_recent, 9)) == 1


async def test_without_a_server_the_pages_say_so(world: World) -> None:
    at = f"/ui/hooks/{world.failing['id']}"
    async with open_dashboard(world.store, world.operator, ui_idle=10**6) as browser:
        assert "No mail is sent" in text_of(await browser.page("/ui/mail"))
        assert "by mail" not in text_of(await browser.page(at))
        assert "by mail" not in text_of(await browser.page("/ui/problems"))
        answer = await browser.post("/ui/mail/test", {"address": OCTO}, on="/ui")
        assert answer.status_code == 409
        assert "mail_host" in answer.text


async def test_a_missing_address_is_reported(world: World) -> None:
    async with open_dashboard(world.store, world.seed.reader_token, **ON) as browser:
        assert "no verified primary address" in text_of(await browser.page("/ui/mail"))


def test_hooks_that_are_gone_are_left_out(world: World) -> None:
    def leave(db: Connection) -> list[Any]:
        owner = world.seed.octo["id"]
        subscriptions.unsubscribe(db, owner, [0, world.failing["id"], world.good["id"]])
        hook_removal.delete(db, world.failing)
        return [row["hook_id"] for row in subscriptions.list_left(db, owner)]

    assert world.store.write_sync(leave) == [0, world.good["id"]]
