"""Unsubscribing with the link in a mail: signed, without signing in, and never by a GET."""

import re
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from required import required
from transactions import transaction

from hub.mail import links
from hub.mail.composer import MailComposer
from hub.rest.urls import Urls
from hub.settings import HubSettings
from store import Connection, Row, Store
from store.accounts import accounts, emails
from store.alerts import alerts
from store.alerts.alerts import INSTALLATION, NewAlert
from store.delivery import hook_removal
from store.hooks import hooks
from store.mail import notices, outbox, receivers, subscriptions
from store.registry import account_removal

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


def header_lines(mail: EmailMessage, name: str) -> str:
    """The value of a header as it is sent, if the header has only one line."""
    head = mail.as_bytes(policy=SMTP).partition(b"\r\n\r\n")[0].decode("ascii")
    (found,) = [line for line in head.split("\r\n") if line.startswith(f"{name}: ")]
    return found.partition(": ")[2]


class Post:
    """Two hooks of octo, and a mail about both."""

    def __init__(self, store: Store, seed: Any, settings: HubSettings) -> None:
        self.store, self.seed, self.settings = store, seed, settings
        self.one, self.two, self.mail = store.write_sync(self._furnish)

    def _furnish(self, db: Connection) -> tuple[int, int, EmailMessage]:
        emails.add(db, self.seed.octo["id"], ["octo@people.example"], verified=True)
        one, two = (
            hooks.create(db, self.seed.hello["id"], url=f"https://{n}.example/", events=["push"])
            for n in ("ci", "chat")
        )
        about = [NewAlert("hook.failing", hook["id"], {"since": db.now}) for hook in (one, two)]
        notices.add(db, alerts.get_many(db, alerts.open_all(db, about)), 0)
        notices.make_mails(db, notices.MailLimits(9, 9))
        (row,) = outbox.list_due(db, 9)
        composer = MailComposer(self.settings.model_copy(update={"mail_from": "t@forge.example"}))
        mail = required(composer(db, row))
        return one["id"], two["id"], mail

    def reached(self) -> list[bool]:
        """Whether octo gets mail about each hook."""
        found = [self.store.read_sync(receivers.of_hook, number) for number in (self.one, self.two)]
        return [bool(rows) for rows in found]

    @property
    def header(self) -> str:
        """The link in the header `List-Unsubscribe`, for both hooks."""
        line = header_lines(self.mail, "List-Unsubscribe")
        assert re.fullmatch(r"<[!-;=?-~]+>", line)
        return line.strip("<>")

    @property
    def links(self) -> list[str]:
        """The links in the text, one for each hook."""
        lines = self.mail.get_content().splitlines()
        return [line.partition(": ")[2] for line in lines if line.startswith("No more mail")]


@pytest.fixture
def post(store: Store, seed: Any, settings: HubSettings, client: httpx.AsyncClient) -> Post:
    return Post(store, seed, settings)


def stranger(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """Remove the token and the User-Agent from the client, and return it."""
    for name in ("authorization", "user-agent"):
        client.headers.pop(name, None)
    return client


async def test_a_mail_program_unsubscribes_from_all_hooks_of_a_mail(
    post: Post, client: httpx.AsyncClient
) -> None:
    assert post.mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert post.header.startswith("https://forge.example/api/v3/alerts/unsubscribe?")
    answer = await stranger(client).post(post.header, data=ONE_CLICK)
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    assert post.reached() == [False, False]
    # A repeated request succeeds, too, and may be multipart as RFC 8058 allows.
    again = await client.post(post.header, files={"List-Unsubscribe": (None, "One-Click")})
    assert again.status_code == 200
    assert post.reached() == [False, False]


async def test_looking_at_the_page_changes_nothing(post: Post, client: httpx.AsyncClient) -> None:
    answer = await stranger(client).get(post.header)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "form-action 'self'" in answer.headers["content-security-policy"]
    for text in (f"hook {post.one} of octo/hello (ci.example)", '<form method="post">'):
        assert text in answer.text
    assert (await client.head(post.header)).status_code == 200
    assert post.reached() == [True, True]


async def test_hooks_that_an_account_no_longer_administers_have_no_name(
    post: Post, client: httpx.AsyncClient
) -> None:
    with transaction(post.store) as db:
        hook = required(hooks.get(db, post.seed.hello["id"], post.one))
        hooks.update(db, hook, url="https://secret.example/")
        db.execute(
            "UPDATE repository SET owner_id = :owner, name = 'takeover' WHERE id = :id",
            id=post.seed.hello["id"],
            owner=post.seed.reader["id"],
        )
    for answer in (
        await stranger(client).get(post.header),
        await client.post(post.header, data=ONE_CLICK),
    ):
        assert f"<li>hook {post.one}</li>" in answer.text
        assert not any(name in answer.text for name in ("secret", "takeover"))
    rows = post.store.read_sync(subscriptions.list_left, post.seed.octo["id"])
    assert [row["name"] for row in rows] == [f"hook {post.one}", f"hook {post.two}"]


async def test_each_hook_has_a_link_of_its_own(post: Post, client: httpx.AsyncClient) -> None:
    first, second = post.links
    answer = await stranger(client).post(first, data={"action": "unsubscribe"})
    assert "You get no more mail about" in answer.text
    assert "Subscribe again" in answer.text
    assert post.reached() == [False, True]
    answer = await client.post(first, data={"action": "subscribe"})
    assert "You get mail again" in answer.text
    assert post.reached() == [True, True]
    assert first != second


def altered(link: str, **changes: str) -> str:
    place, _, query = link.partition("?")
    found = {name: one for name, (one,) in parse_qs(query).items()}
    return f"{place}?{urlencode(found | changes)}"


@pytest.mark.parametrize(
    "changes",
    [
        {"account": "2"},
        {"hooks": "1-2-3"},
        {"hooks": ""},
        {"hooks": "x"},
        {"hooks": "-".join(map(str, range(1000)))},
        {"account": "x"},
        {"signature": "0" * 64},
        {"signature": ""},
        {"signature": "é"},
    ],
)
async def test_an_altered_link_is_refused(
    post: Post, client: httpx.AsyncClient, changes: dict[str, str]
) -> None:
    link = altered(post.links[0], **changes)
    for answer in (await client.post(link, data=ONE_CLICK), await client.get(link)):
        assert answer.status_code == 403
        assert "did not issue it" in answer.text
        assert "<form" not in answer.text
    assert post.reached() == [True, True]


async def test_a_form_that_asks_for_nothing_is_refused(
    post: Post, client: httpx.AsyncClient
) -> None:
    for given in ({}, {"action": "delete"}, {"List-Unsubscribe": "Two-Clicks"}):
        assert (await client.post(post.header, data=given)).status_code == 400
    assert (await client.post(post.header, content=b"x" * 5000)).status_code == 413
    assert post.reached() == [True, True]


async def test_no_mail_about_hooks_that_were_left_meanwhile(
    post: Post, client: httpx.AsyncClient, store: Store
) -> None:
    def fail_again(db: Connection) -> list[Row]:
        db_alerts = [NewAlert("hook.disabled", post.one, {"since": db.now})]
        notices.add(db, alerts.get_many(db, alerts.open_all(db, db_alerts)), 0)
        return []

    store.write_sync(fail_again)
    await stranger(client).post(post.links[0], data=ONE_CLICK)
    store.write_sync(notices.make_mails, notices.MailLimits(9, 9))
    assert len(store.read_sync(outbox.list_recent, 9)) == 1
    assert store.read_sync(notices.next_due) is None


async def test_the_link_of_a_deleted_hook_is_explained(
    post: Post, client: httpx.AsyncClient, store: Store
) -> None:
    hook = required(store.read_sync(hooks.by_id, post.one))
    store.write_sync(hook_removal.delete, hook)
    answer = await stranger(client).get(post.links[0])
    assert "These hooks are gone" in answer.text
    assert (await client.post(post.links[0], data=ONE_CLICK)).status_code == 200


async def test_the_link_of_a_removed_account_is_explained(
    store: Store, seed: Any, settings: HubSettings, client: httpx.AsyncClient
) -> None:
    with transaction(store) as db:
        gone = accounts.create(db, "gone")
        found = links.link(db, Urls(settings.root()), gone["id"], [INSTALLATION])
        account_removal.remove(db, gone)
    for answer in (
        await stranger(client).get(found),
        await client.post(found, data=ONE_CLICK),
        await client.post(found, data={"action": "subscribe"}),
    ):
        assert answer.status_code == 200
        assert "Your account is gone" in answer.text
        assert "<form" not in answer.text


async def test_the_whole_installation_has_a_link_too(
    store: Store, seed: Any, settings: HubSettings, client: httpx.AsyncClient
) -> None:
    with transaction(store) as db:
        found = links.link(db, Urls(settings.root()), seed.octo["id"], [INSTALLATION])
    assert urlsplit(found).path == "/api/v3/alerts/unsubscribe"
    answer = await stranger(client).post(found, data=ONE_CLICK)
    assert "the whole installation" in answer.text


def test_a_link_about_many_hooks_is_sent_in_one_piece(
    store: Store, seed: Any, settings: HubSettings
) -> None:
    with transaction(store) as db:
        emails.add(db, seed.octo["id"], ["octo@people.example"], verified=True)
        made = [
            hooks.create(db, seed.hello["id"], url=f"https://ci{n}.example/", events=["ping"])
            for n in range(60)
        ]
        about = [NewAlert("hook.failing", hook["id"], {"since": db.now}) for hook in made]
        notices.add(db, alerts.get_many(db, alerts.open_all(db, about)), 0)
        notices.make_mails(db, notices.MailLimits(9, 9))
        (row,) = outbox.list_due(db, 9)
        domain = f"{'a' * 60}.example"
        composer = MailComposer(settings.model_copy(update={"mail_from": f"t@{domain}"}))
        mail = required(composer(db, row))
    line = header_lines(mail, "List-Unsubscribe")
    assert re.fullmatch(r"<[!-;=?-~]+>", line)
    assert len(line) < 900
    (wanted,) = parse_qs(urlsplit(line.strip("<>")).query)["hooks"]
    assert len(wanted.split("-")) == 50
    assert header_lines(mail, "Message-ID").endswith("aa.example>")
