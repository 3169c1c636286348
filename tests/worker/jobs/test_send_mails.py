"""Alerts by mail: each alert reaches the owners of its hook once, through any failure."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any

import pytest
from required import required
from smtp_site import SmtpSite, smtp_site
from ui_world import World, hook

from hub.mail.composer import MailComposer
from hub.settings import HubSettings
from hub.worker_events import WorkerEvents
from store import Connection, Row, Store
from store.accounts import accounts, emails
from store.alerts import alerts
from store.clock import MovableClock
from store.delivery import hook_removal
from store.errors import Missing, Unusable
from store.hooks import hooks
from store.hooks.hook_targets import SYSTEM
from store.mail import notices, outbox, subscriptions
from store.repositories import repositories
from worker.delivery.metrics import WorkerMetrics
from worker.job_table import JobContext, build_jobs
from worker.jobs.check_alerts import check_alerts
from worker.jobs.prune import prune
from worker.jobs.send_mails import MailSender, next_due
from worker.service import Worker
from worker.settings import WorkerSettings

OCTO = "octo@people.example"
FROM = "tocsin@forge.example"
WINDOW, DAYS = 300, 86_400


@dataclass
class Post:
    """A world with an SMTP server, and the two jobs that make a mail of a failed delivery."""

    world: World
    site: SmtpSite
    clock: MovableClock
    base: HubSettings
    metrics: WorkerMetrics

    @property
    def store(self) -> Store:
        return self.world.store

    def settings(self, **changed: Any) -> WorkerSettings:
        given: dict[str, Any] = {
            "mail_host": "127.0.0.1",
            "mail_port": self.site.port,
            "mail_security": "none",
            "mail_from": FROM,
        }
        return WorkerSettings(**given | changed)

    def fail(self, one: Row, guid: str) -> None:
        """Record a failed attempt of a hook, which opens an alert."""
        self.world.send(one, guid, status_code=None, error="guard: private")

    def recover(self, one: Row, guid: str) -> None:
        self.world.send(one, guid)

    async def check(self, **changed: Any) -> None:
        await check_alerts(self.store, self.settings(**changed), WorkerEvents(self.base))

    async def send(self, **changed: Any) -> list[EmailMessage]:
        """Run the job. Return the mails that arrived meanwhile."""
        before = len(self.site.mails)
        composer = MailComposer(self.base.model_copy(update={"mail_from": FROM}))
        await MailSender(self.store, self.settings(**changed), composer, self.metrics).run()
        return self.site.mails[before:]

    def outbox(self) -> list[Row]:
        return self.store.read_sync(outbox.list_recent, 100)

    def counted(self) -> dict[str, float]:
        return {name: many for (name,), many in self.metrics.mails.values().items() if many}

    async def mail_people(self, *names: str) -> None:
        """Create an administrator of the failing hook for each name, and a mail to each of them."""

        def add(db: Connection) -> None:
            for name in names:
                row = accounts.create(db, name)
                emails.add(db, row["id"], [f"{name}@people.example"], verified=True)
                repositories.grant(db, self.world.failing["repo_id"], row["id"], "admin")
            found = required(emails.primary(db, self.world.seed.octo["id"]))
            emails.verify(db, found["id"], False)

        self.store.write_sync(add)
        self.fail(self.world.failing, "people")
        await self.check(mail_window=0)
        self.store.write_sync(notices.make_mails, notices.MailLimits(9, 9))


def text(mail: EmailMessage) -> str:
    found = mail.get_content()
    assert isinstance(found, str)
    return found.replace("\r\n", "\n")


@pytest.fixture
async def post(
    store: Store, seed: Any, clock: MovableClock, settings: HubSettings
) -> AsyncIterator[Post]:
    world = World(store, seed)
    store.write_sync(emails.add, seed.octo["id"], [OCTO], verified=True)
    async with smtp_site() as site:
        yield Post(world, site, clock, settings, WorkerMetrics())
    await store.close()


async def test_the_owner_of_a_hook_gets_a_mail_after_the_window(post: Post) -> None:
    post.fail(post.world.failing, "a")
    await post.check()
    assert await post.send() == []
    assert post.store.read_sync(next_due) == post.clock.now() + WINDOW * 1_000_000
    post.clock.advance(WINDOW)
    (mail,) = await post.send()
    assert post.site.receivers == [OCTO]
    assert post.site.senders == [FROM]
    assert mail["To"] == OCTO
    assert mail["From"] == f"tocsin <{FROM}>"
    number = post.world.failing["id"]
    assert mail["Subject"].startswith(f"[tocsin] The hook {number} of octo/hello")
    assert mail["Auto-Submitted"] == "auto-generated"
    assert "cannot be used as it is configured" in text(mail)
    assert f"https://forge.example/ui/hooks/{number}" in text(mail)
    assert await post.send() == []
    assert post.store.read_sync(next_due) is None
    (row,) = post.outbox()
    assert (row["outcome"], row["attempts"], row["login"]) == ("sent", 1, "octo")
    assert post.counted() == {"sent": 1}


async def test_alerts_of_the_window_are_one_mail(post: Post) -> None:
    post.fail(post.world.failing, "a")
    await post.check()
    post.clock.advance(WINDOW - 1)
    post.fail(post.world.hidden, "b")
    await post.check()
    post.clock.advance(1)
    (mail,) = await post.send()
    assert mail["Subject"] == "[tocsin] 2 alerts: octo/hello, octo/vault"
    assert text(mail).count("cannot be used") == 2
    post.fail(post.world.good, "c")
    await post.check()
    assert await post.send() == []
    post.clock.advance(WINDOW)
    assert len(await post.send()) == 1


async def test_without_a_window_mails_are_sent_at_once(post: Post) -> None:
    post.fail(post.world.failing, "a")
    await post.check(mail_window=0)
    assert len(await post.send()) == 1


async def test_a_mail_describes_a_limited_number_of_alerts(post: Post) -> None:
    def make(db: Connection) -> list[Row]:
        return [hook(db, post.world.seed.hello["id"], f"h{n}", events=["ping"]) for n in range(60)]

    for one in post.store.write_sync(make):
        post.fail(one, one["url"])
    await post.check(mail_window=0)
    (mail,) = await post.send()
    assert "60 alerts" in mail["Subject"]
    assert "... and 10 more alerts" in text(mail)
    assert text(mail).count("cannot be used") == 50


async def test_mails_an_hour_are_limited_and_later_alerts_wait(post: Post) -> None:
    for guid, one in (("a", post.world.failing), ("b", post.world.good)):
        post.fail(one, guid)
        await post.check(mail_window=0)
        await post.send(mail_per_hour=1)
    assert len(post.site.mails) == 1
    post.fail(post.world.hidden, "c")
    await post.check(mail_window=0)
    assert await post.send(mail_per_hour=1) == []
    due = post.store.read_sync(next_due)
    assert due == post.clock.now() + 3600 * 1_000_000
    post.clock.advance(3600)
    (mail,) = await post.send(mail_per_hour=1)
    assert "2 alerts" in mail["Subject"]


async def test_mails_an_hour_to_all_are_limited(post: Post) -> None:
    def share(db: Connection) -> None:
        theirs = required(accounts.by_login(db, "theirs"))
        emails.add(db, theirs["id"], ["theirs@people.example"], verified=True)

    post.store.write_sync(share)
    post.fail(post.world.failing, "a")
    post.fail(post.world.other, "b")
    await post.check(mail_window=0)
    assert len(await post.send(mail_per_hour_total=1)) == 1
    post.clock.advance(3600)
    assert len(await post.send(mail_per_hour_total=1)) == 1
    assert sorted(post.site.receivers) == [OCTO, "theirs@people.example"]


async def test_mails_of_a_fast_clock_do_not_count_in_the_limits(post: Post) -> None:
    post.clock.advance(10 * DAYS)
    post.fail(post.world.failing, "a")
    await post.check(mail_window=0)
    assert len(await post.send()) == 1
    post.clock.advance(-10 * DAYS)
    post.fail(post.world.hidden, "b")
    await post.check(mail_window=0)
    assert len(await post.send(mail_per_hour=1, mail_per_hour_total=1)) == 1


async def test_alerts_and_mails_of_a_fast_clock_are_due_after_pruning(post: Post) -> None:
    post.clock.advance(10 * DAYS)
    post.fail(post.world.failing, "a")
    await post.check(mail_window=0)
    await post.send(mail_port=1)
    post.fail(post.world.hidden, "b")
    await post.check()
    post.clock.advance(-10 * DAYS)
    assert await post.send() == []
    await prune(post.store, post.settings(), batch=1, pause=0)
    assert len(await post.send()) == 2
    # Usual delays stay.
    post.fail(post.world.good, "c")
    await post.check(mail_window=DAYS)
    await prune(post.store, post.settings(mail_window=DAYS), batch=1, pause=0)
    assert await post.send() == []
    post.clock.advance(DAYS)
    assert len(await post.send()) == 1


@pytest.mark.parametrize(("seconds", "mails"), [(2 * DAYS - 1, 1), (2 * DAYS, 0)])
async def test_notices_that_have_waited_for_two_days_are_dropped(
    post: Post, seconds: int, mails: int
) -> None:
    post.fail(post.world.failing, "a")
    await post.check()
    post.clock.advance(seconds)
    assert len(await post.send()) == mails
    assert len(post.outbox()) == mails
    assert post.store.read_sync(next_due) is None


async def test_a_temporary_refusal_is_tried_again_later(post: Post) -> None:
    post.site.rcpt = lambda address: "451 later"
    post.fail(post.world.failing, "a")
    await post.check(mail_window=0)
    assert await post.send() == []
    (row,) = post.outbox()
    assert (row["outcome"], row["error"], row["attempts"]) == (None, "451 later", 1)
    assert await post.send() == []
    assert post.outbox()[0]["attempts"] == 1
    post.clock.advance(60)
    post.site.rcpt = lambda address: "250 OK"
    (mail,) = await post.send()
    assert mail["Message-ID"] == f"<{row['guid']}@forge.example>"
    assert post.outbox()[0]["outcome"] == "sent"
    assert post.counted() == {"delayed": 1, "sent": 1}


async def test_a_final_refusal_ends_the_mail_and_not_the_others(post: Post) -> None:
    await post.mail_people("a", "b")
    post.site.rcpt = lambda address: "550 unknown" if address.startswith("a") else "250 OK"
    (mail,) = await post.send()
    assert mail["To"] == "b@people.example"
    second, first = post.outbox()
    assert (first["outcome"], first["error"]) == ("failed", "550 unknown")
    assert (second["outcome"], second["error"]) == ("sent", None)
    post.clock.advance(86_400)
    assert await post.send() == []


async def test_mails_wait_while_the_server_is_away(post: Post) -> None:
    await post.mail_people("p0", "p1", "p2")
    assert await post.send(mail_port=1) == []
    rows = post.outbox()
    assert {row["attempts"] for row in rows} == {0}
    assert all("onnect" in row["error"] for row in rows)
    assert await post.send() == []
    post.clock.advance(120)
    assert len(await post.send()) == 3


async def test_a_connection_that_breaks_delays_the_mails_behind(post: Post) -> None:
    await post.mail_people("p0", "p1", "p2")
    breaks = iter([True])
    post.site.data = lambda mail: None if next(breaks, False) else "250 OK"
    assert await post.send() == []
    assert post.site.connections == 1
    post.clock.advance(120)
    assert len(await post.send()) == 3
    assert {row["outcome"] for row in post.outbox()} == {"sent"}


async def test_mails_unsent_for_a_day_are_dropped(post: Post) -> None:
    await post.mail_people("a", "b")
    post.clock.advance(86_401)
    assert await post.send() == []
    assert post.site.connections == 0
    assert {(row["outcome"], row["error"], row["attempts"]) for row in post.outbox()} == {
        ("failed", outbox.OVERDUE, 0)
    }
    assert post.counted() == {"failed": 2}
    assert post.store.read_sync(next_due) is None


async def test_after_a_day_a_mail_has_failed(post: Post) -> None:
    post.site.rcpt = lambda address: "451 later"
    await post.mail_people("a")
    await post.send()
    post.clock.advance(86_400)
    await post.send()
    assert (post.outbox()[0]["outcome"], post.outbox()[0]["error"]) == ("failed", "451 later")
    assert post.counted() == {"delayed": 1, "failed": 1}
    assert post.store.read_sync(next_due) is None


async def test_mails_fail_and_go_after_the_server_was_removed_from_the_settings(post: Post) -> None:
    await post.mail_people("a")
    await post.send(mail_port=1)
    post.clock.advance(2 * DAYS)
    await prune(post.store, post.settings(), pause=0)
    assert [row["outcome"] for row in post.outbox()] == [None]
    await prune(post.store, WorkerSettings(), pause=0)
    assert [row["outcome"] for row in post.outbox()] == ["failed"]
    post.clock.advance(31 * DAYS)
    await prune(post.store, WorkerSettings(), pause=0)
    assert post.outbox() == []


async def test_after_a_day_without_the_server_a_mail_has_failed(post: Post) -> None:
    await post.mail_people("a")
    await post.send(mail_port=1)
    post.clock.advance(86_400)
    await post.send(mail_port=1)
    assert post.outbox()[0]["outcome"] == "failed"
    assert post.counted() == {"delayed": 1, "failed": 1}
    assert post.store.read_sync(next_due) is None


@pytest.mark.parametrize("trouble", ["refused", "away"])
async def test_a_test_message_is_tried_once(post: Post, trouble: str) -> None:
    post.store.write_sync(outbox.add, outbox.TEST, "a@people.example")
    post.site.rcpt = lambda address: "451 later"
    await post.send(**({"mail_port": 1} if trouble == "away" else {}))
    (row,) = post.outbox()
    assert row["outcome"] == "failed"
    assert row["error"]
    assert post.counted() == {"failed": 1}
    assert post.store.read_sync(next_due) is None


async def test_a_crash_before_sending_loses_no_mail(post: Post) -> None:
    post.fail(post.world.failing, "a")
    await post.check(mail_window=0)

    def crash(db: Connection, mail: Row) -> EmailMessage | None:
        raise asyncio.CancelledError

    sender = MailSender(post.store, post.settings(), crash, post.metrics)
    with pytest.raises(asyncio.CancelledError):
        await sender.run()
    assert post.site.mails == []
    post.clock.advance(60)
    assert len(await post.send()) == 1


async def test_a_crash_before_the_record_repeats_the_mail_under_its_id(post: Post) -> None:
    post.fail(post.world.failing, "a")
    await post.check(mail_window=0)
    running = asyncio.ensure_future(post.send())

    def accept(mail: EmailMessage) -> str:
        running.cancel()
        return "250 OK"

    post.site.data = accept
    with pytest.raises(asyncio.CancelledError):
        await running
    (row,) = post.outbox()
    assert (row["outcome"], row["attempts"]) == (None, 1)
    post.site.data = lambda mail: "250 OK"
    assert await post.send() == []
    post.clock.advance(60)
    assert len(await post.send()) == 1
    assert len({mail["Message-ID"] for mail in post.site.mails}) == 1
    assert post.outbox()[0]["outcome"] == "sent"


async def test_two_processes_send_a_mail_once(post: Post) -> None:
    number = post.store.write_sync(outbox.add, outbox.TEST, "a@people.example")
    row = required(post.store.read_sync(outbox.get, number))
    assert post.store.write_sync(outbox.claim, row, 0)
    assert not post.store.write_sync(outbox.claim, row, 0)


async def test_problems_of_the_whole_installation_go_to_its_administrators(post: Post) -> None:
    def furnish(db: Connection) -> Row:
        root = required(accounts.by_login(db, "root"))
        emails.add(db, root["id"], ["root@people.example"], verified=True)
        return hooks.create(db, SYSTEM, url="https://ops.example/", events=["push"])

    ops = post.store.write_sync(furnish)
    post.fail({**ops, "repo_id": 0}, "a")
    await post.check(mail_window=0)
    (mail,) = await post.send()
    assert mail["To"] == "root@people.example"
    assert "whole installation" in mail["Subject"]
    post.world.send(post.world.failing, "b", "c", status_code=500)
    post.clock.advance(seconds=400)
    await post.check(mail_window=0, alert_backlog=2)
    assert "The backlog is high" in text((await post.send())[-1])


async def test_without_a_server_nothing_is_noted(post: Post) -> None:
    post.fail(post.world.failing, "a")
    await check_alerts(post.store, WorkerSettings(), WorkerEvents(post.base))
    assert post.store.read_sync(next_due) is None
    names = [job.name for job in build_jobs(JobContext(post.store, WorkerSettings()))]
    assert "mail" not in names
    names = [job.name for job in build_jobs(JobContext(post.store, post.settings()))]
    assert "mail" in names


async def test_users_without_a_verified_address_get_no_mail(post: Post) -> None:
    post.fail(post.world.failing, "a")
    await post.check()

    def unverify(db: Connection) -> None:
        found = required(emails.primary(db, post.world.seed.octo["id"]))
        emails.verify(db, found["id"], False)

    post.store.write_sync(unverify)
    post.clock.advance(WINDOW)
    assert await post.send() == []
    assert post.store.read_sync(next_due) is None
    post.fail(post.world.hidden, "b")
    await post.check()
    assert post.store.read_sync(next_due) is None


async def test_a_mail_without_its_alerts_is_deleted(post: Post) -> None:
    post.site.rcpt = lambda address: "451 later"
    post.fail(post.world.failing, "a")
    await post.check(mail_window=0)
    await post.send()
    post.store.write_sync(hook_removal.delete, post.world.failing)
    await post.check()
    post.clock.advance(3600)
    assert post.store.write_sync(alerts.drop, post.clock.now(), 10) == 1
    assert await post.send() == []
    assert post.outbox() == []
    assert post.counted() == {"delayed": 1}


async def test_a_mail_that_loses_its_alerts_after_the_claim_is_deleted_later(post: Post) -> None:
    post.fail(post.world.failing, "a")
    await post.check(mail_window=0)
    post.store.write_sync(notices.make_mails, notices.MailLimits(9, 9))
    sender = MailSender(post.store, post.settings(), lambda db, mail: None, post.metrics)
    await sender.run()
    assert (post.site.mails, post.counted()) == ([], {})
    post.store.write_sync(lambda db: db.execute("DELETE FROM mail_notice"))
    post.clock.advance(3600)
    assert await post.send() == []
    assert (post.outbox(), post.store.read_sync(next_due)) == ([], None)


async def test_a_password_file_that_is_missing_delays_the_mails(post: Post, tmp_path: Any) -> None:
    post.store.write_sync(outbox.add, outbox.TEST, "a@people.example")
    await post.send(mail_user="u", mail_password_file=tmp_path / "missing")
    assert "mail_password_file" in post.outbox()[0]["error"]


async def test_the_extra_is_needed(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "worker.jobs.send_mails", None)
    needed = r"needs the extra mail .*install tocsin\[mail\]"
    with pytest.raises(Unusable, match=needed):
        build_jobs(JobContext(post.store, post.settings()))
    worker = Worker(post.store, WorkerSettings())
    with pytest.raises(Unusable, match=needed):
        worker.change(post.settings(callback_ports="1"))
    await worker.stop()


@pytest.mark.parametrize("error", [ValueError, TypeError, Missing])
async def test_a_mail_that_cannot_be_composed_keeps_back_no_other(
    post: Post, error: type[Exception]
) -> None:
    await post.mail_people("a", "b")
    compose = MailComposer(post.base.model_copy(update={"mail_from": FROM}))

    def fails(db: Connection, mail: Row) -> EmailMessage | None:
        if mail["login"] == "a":
            raise error("a mistake")
        return compose(db, mail)

    await MailSender(post.store, post.settings(), fails, post.metrics).run()
    assert post.site.receivers == ["b@people.example"]
    assert {row["login"]: row["outcome"] for row in post.outbox()} == {"a": "failed", "b": "sent"}
    assert f"cannot be composed: {error.__name__}" in post.outbox()[1]["error"]


async def test_an_address_in_unicode_is_sent_to_servers_that_can(post: Post) -> None:
    post.store.write_sync(outbox.add, outbox.TEST, "ädä@people.example")
    await post.send()
    assert post.outbox()[0]["outcome"] == "sent"
    assert post.site.receivers == ["ädä@people.example"]


async def test_a_former_administrator_of_a_hook_gets_no_mail(post: Post) -> None:
    def add(db: Connection) -> int:
        row = accounts.create(db, "leaver", site_admin=True)
        emails.add(db, row["id"], ["leaver@people.example"], verified=True)
        repositories.grant(db, post.world.failing["repo_id"], row["id"], "admin")
        return int(row["id"])

    leaver = post.store.write_sync(add)
    post.fail(post.world.failing, "a")
    await post.check()
    post.store.write_sync(repositories.grant, post.world.failing["repo_id"], leaver, "read")
    post.clock.advance(WINDOW)
    await post.send()
    assert post.site.receivers == [OCTO]
    assert post.store.read_sync(next_due) is None


async def test_a_waiting_mail_follows_the_rights_and_the_address_of_its_receiver(
    post: Post,
) -> None:
    failing, good, hidden = post.world.failing, post.world.good, post.world.hidden

    def add(db: Connection) -> int:
        row = accounts.create(db, "leaver")
        emails.add(db, row["id"], ["old@people.example"], verified=True)
        for one in (failing, hidden):
            repositories.grant(db, one["repo_id"], row["id"], "admin")
        hook_ids = [one["id"] for one in (failing, good, hidden)]
        subscriptions.unsubscribe(db, post.world.seed.octo["id"], hook_ids)
        return int(row["id"])

    def leave(db: Connection) -> None:
        repositories.grant(db, hidden["repo_id"], leaver, "read")
        subscriptions.unsubscribe(db, leaver, [good["id"]])
        (new,) = emails.add(db, leaver, ["new@people.example"], verified=True)
        emails.make_primary(db, new)

    leaver = post.store.write_sync(add)
    for guid, one in (("a", failing), ("b", good), ("c", hidden)):
        post.fail(one, guid)
    await post.check(mail_window=0)
    assert await post.send(mail_port=1) == []
    post.store.write_sync(leave)
    post.clock.advance(3600)
    (mail,) = await post.send()
    assert post.site.receivers == ["new@people.example"]
    assert mail["To"] == "new@people.example"
    assert mail["Subject"].startswith(f"[tocsin] The hook {failing['id']} of octo/hello")
    (row,) = post.store.read_sync(notices.list_mails, 9)
    assert (row["address"], row["alerts"]) == ("new@people.example", 1)


async def test_a_waiting_mail_is_deleted_if_its_receiver_must_not_get_it(post: Post) -> None:
    post.fail(post.world.failing, "a")
    await post.check(mail_window=0)
    assert await post.send(mail_port=1) == []
    hook_ids = [post.world.failing["id"]]
    post.store.write_sync(subscriptions.unsubscribe, post.world.seed.octo["id"], hook_ids)
    post.clock.advance(3600)
    assert await post.send() == []
    # It has not failed, so no alarm counts it.
    assert post.outbox() == []
    assert post.store.read_sync(outbox.count_unsent, 0) == 0
    assert post.counted() == {"delayed": 1}
    assert post.store.read_sync(next_due) is None
