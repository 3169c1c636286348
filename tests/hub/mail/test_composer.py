"""The headers and the text of mails: data from outside adds no header, line or secret to them."""

from email import message_from_bytes
from email.policy import SMTP, default
from typing import Any

import pytest
from required import required
from transactions import transaction

from hub.mail.composer import MailComposer
from hub.settings import HubSettings
from store import Connection, Row, Store
from store.accounts import emails
from store.alerts import alerts
from store.alerts.alerts import NewAlert
from store.hooks import hooks
from store.mail import notices, outbox

FROM = "tocsin@forge.example"


@pytest.fixture
def composer(settings: HubSettings) -> MailComposer:
    return MailComposer(settings.model_copy(update={"mail_from": FROM}))


def mail_about(db: Connection, seed: Any, alert: NewAlert) -> Row:
    """Open an alert. Return the mail to octo about it, from the outbox."""
    emails.add_if_missing(db, seed.octo["id"], "octo@people.example")
    opened = alerts.get_many(db, alerts.open_all(db, [alert]))
    notices.add(db, opened, 0)
    notices.make_mails(db, notices.MailLimits(9, 9))
    (mail,) = outbox.list_due(db, 1)
    return mail


def test_texts_from_outside_add_no_header_and_no_line(
    store: Store, seed: Any, composer: MailComposer
) -> None:
    evil = "refs/x\r\nBcc: eve@evil.example\r\n\r\n.\r\nQUIT\u2028\x1b[2J"

    with transaction(store) as db:
        hook = hooks.create(
            db, seed.hello["id"], url="https://u:pass@ci.example/in?token=SECRET", events=["push"]
        )
        mail = mail_about(
            db,
            seed,
            NewAlert("ordering.key_blocked", hook["id"], {"since": db.now, "delivery_id": 1}, evil),
        )
        found = required(composer(db, mail))
        content = found.as_bytes(policy=SMTP)
    parsed = message_from_bytes(content, policy=default)
    assert parsed["Bcc"] is None
    assert parsed["To"] == "octo@people.example"
    assert "eve@evil.example" not in str(parsed["To"])
    text = parsed.get_content()
    assert "SECRET" not in text
    assert "pass" not in text
    assert not [line for line in text.splitlines() if line in (".", "QUIT") or "Bcc:" in line[:4]]
    assert "\x1b" not in text
    assert all(len(line) <= 998 for line in content.split(b"\r\n"))


@pytest.mark.parametrize(
    "key",
    [
        "=?utf-8?q?x=0D=0ABcc:_eve=40evil.example=0D=0A=0D=0ASign_in_again?=",
        "=?utf-8?b?eA0KQmNjOiBldmVAZXZpbC5leGFtcGxlDQoNClNpZ24gaW4gYWdhaW4=?=",
        "==?utf-8?q?x=0ABcc:_eve=40evil.example?=",
    ],
)
def test_a_text_that_looks_encoded_adds_no_header(
    store: Store, seed: Any, composer: MailComposer, key: str
) -> None:
    """The key of an ordered hook may be the name of a branch, or anything in a payload."""

    def compose(db: Connection) -> bytes:
        hook = hooks.create(db, seed.hello["id"], url="https://ci.example/", events=["push"])
        data = {"since": db.now, "delivery_id": 1}
        found = composer(
            db, mail_about(db, seed, NewAlert("ordering.key_blocked", hook["id"], data, key))
        )
        assert found is not None
        return found.as_bytes(policy=SMTP)

    parsed = message_from_bytes(store.write_sync(compose), policy=default)
    assert parsed["Bcc"] is None
    assert parsed["Subject"].startswith(f"[tocsin] The key {key.replace('=?', '= ?')} is blocked")
    assert parsed.get_content().startswith("The key ")


def test_domains_in_unicode_are_sent_in_ascii(
    store: Store, seed: Any, composer: MailComposer
) -> None:
    with transaction(store) as db:
        number = outbox.add(db, outbox.TEST, "ada@müller.example")
        mail = required(outbox.get(db, number))
        found = composer(db, mail)
    assert found["To"] == "ada@xn--mller-kva.example"
    assert found["Subject"] == "[tocsin] test message"
    assert found["Message-ID"].endswith("@forge.example>")


def test_an_address_from_an_earlier_version_adds_no_header(
    store: Store, seed: Any, composer: MailComposer
) -> None:
    with transaction(store) as db:
        address = "=?utf-8?q?x=0ABcc:_eve=40evil.example?=@reader.example"
        mail = required(outbox.get(db, outbox.add(db, outbox.TEST, address)))
        found = required(composer(db, mail))
        content = found.as_bytes(policy=SMTP)
    assert b"\nBcc:" not in content
    assert b'To: "= ?utf-8?q?' in content


def test_long_texts_are_cut(store: Store, seed: Any, composer: MailComposer) -> None:
    with transaction(store) as db:
        hook = hooks.create(db, seed.hello["id"], url="https://ci.example/", events=["push"])
        data = {"since": db.now, "reason": "x" * 100_000}
        found = composer(db, mail_about(db, seed, NewAlert("hook.disabled", hook["id"], data)))
    assert len(found["Subject"]) < 400
    assert len(found.get_content()) < 2_000
