"""`tocsin alert`: mails, the test message, and the subscriptions to mail about a hook."""

from collections.abc import Iterator

import pytest
from ports import free_port
from smtp_site import SmtpSite, smtp_site_in_thread
from transactions import transaction

from store import Store
from store.accounts import accounts, emails
from store.hooks import hooks
from store.mail import outbox, receivers
from store.repositories import repositories


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[SmtpSite]:
    with smtp_site_in_thread() as opened:
        set_server(monkeypatch, opened.port)
        yield opened


def set_server(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    monkeypatch.setenv("TOCSIN_MAIL_HOST", "127.0.0.1")
    monkeypatch.setenv("TOCSIN_MAIL_PORT", str(port))
    monkeypatch.setenv("TOCSIN_MAIL_SECURITY", "none")
    monkeypatch.setenv("TOCSIN_MAIL_FROM", "tocsin@forge.example")


def test_a_test_message_is_sent_and_listed(run, listed, store: Store, site: SmtpSite):
    said = run("alert", "test-mail", "ada@Tower.Example").stdout
    assert said == "127.0.0.1 has accepted the message to ada@tower.example\n"
    (mail,) = site.mails
    assert (mail["To"], mail["Subject"]) == ("ada@tower.example", "[tocsin] test message")
    (row,) = listed("alert", "mails")
    assert (row["state"], row["kind"], row["attempts"]) == ("sent", "test", 1)


def test_a_refused_test_message_shows_the_reason(run, listed, store: Store, site: SmtpSite):
    site.rcpt = lambda address: "451 4.7.1 come back later"
    said = run("alert", "test-mail", "ada@tower.example", code=1).stderr
    assert "127.0.0.1: 451 4.7.1 come back later" in said
    (row,) = listed("alert", "mails")
    assert (row["state"], row["error"]) == ("failed", "451 4.7.1 come back later")


def test_an_unreachable_server_is_reported(run, store: Store, monkeypatch: pytest.MonkeyPatch):
    set_server(monkeypatch, free_port())
    assert "127.0.0.1: " in run("alert", "test-mail", "ada@tower.example", code=1).stderr


def test_without_settings_or_with_a_bad_address(run, store: Store, monkeypatch: pytest.MonkeyPatch):
    assert "mail_host" in run("alert", "test-mail", "ada@tower.example", code=1).stderr
    set_server(monkeypatch, 25)
    said = run("alert", "test-mail", "ada@tower.example\nBcc: x@y.example", code=2).stderr
    assert "is no email address" in said
    assert "no mails" in run("alert", "mails").output


def test_users_can_unsubscribe_and_subscribe_again(run, store: Store):
    with transaction(store) as db:
        owner = accounts.create(db, "ada", site_admin=True)
        emails.add(db, owner["id"], ["ada@tower.example"], verified=True)
        repo = repositories.create(db, owner["id"], "engine")
        hook = hooks.create(db, repo["id"], url="https://ci.example/", events=["push"])
    for number in (hook["id"], 0):
        run("alert", "unsubscribe", "ada", number)
        assert store.read_sync(receivers.of_hook, number) == []
        run("alert", "subscribe", "ada", number)
        assert [row["login"] for row in store.read_sync(receivers.of_hook, number)] == ["ada"]
    assert "whole installation" in run("alert", "subscribe", "ada", 0).stdout
    assert "hook 99" in run("alert", "unsubscribe", "ada", 99, code=4).stderr
    assert "nobody" in run("alert", "unsubscribe", "nobody", hook["id"], code=4).stderr


def test_a_mail_that_waits_is_listed_with_its_next_attempt(listed, store: Store):
    store.write_sync(outbox.add, outbox.TEST, "ada@tower.example")
    (row,) = listed("alert", "mails")
    assert row["state"] == "waiting"
    assert row["next_attempt_at"]
