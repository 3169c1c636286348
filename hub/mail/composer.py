"""The composer of mails: headers and text of a mail of the outbox."""

from collections.abc import Sequence
from datetime import timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime

import orjson

from hub.api.hooks import operational_events
from hub.mail import links
from hub.mail.headers import POLICY
from hub.rest.urls import Urls
from hub.settings import HubSettings
from hub.ui.formatting import pluralize
from store import Connection, Row
from store.accounts import email_address
from store.clock import EPOCH
from store.formats.event_view import EventView
from store.formats.summary import TextLine, summary
from store.hooks.hook_targets import name_of
from store.mail import notices, outbox

NAME, MARK = "tocsin", "[tocsin]"
# The most alerts that a mail describes, targets that its subject names, and characters of a line.
MOST_ALERTS, MOST_NAMED, MOST_LINE = 50, 3, 300
TEST_TEXT = """\
This is a test message. Alerts about hooks will arrive in the same way.

No answer is needed.
"""


class MailComposer:
    """Writes mails with the links and addresses of the settings."""

    def __init__(self, settings: HubSettings) -> None:
        self._urls = Urls(settings.root())
        self._from = settings.mail_from or ""
        self._dashboard = settings.ui

    def __call__(self, db: Connection, mail: Row) -> EmailMessage | None:
        """Return the mail, or None if no alert is left that it is about."""
        if mail["kind"] == outbox.TEST:
            return self._message(db, mail, f"{MARK} test message", TEST_TEXT)
        total = notices.count(db, mail["id"])
        alerts = notices.alerts_of(db, mail["id"], MOST_ALERTS)
        if not alerts:
            return None
        parts = [self._part(db, alert) for alert in alerts]
        if total > len(alerts):
            parts.append(f"... and {pluralize(total - len(alerts), 'more alert')}")
        hook_ids = sorted({alert["hook_id"] for alert in alerts})
        text = "\n\n".join([*parts, self._footer(db, mail, hook_ids)])
        message = self._message(db, mail, _subject(alerts, total, parts[0]), text)
        # A mail program unsubscribes with one request, from all hooks of the mail (RFC 8058).
        message["List-Unsubscribe"] = f"<{self._unsubscribe(db, mail, hook_ids)}>"
        message["List-Unsubscribe-Post"] = "=".join(links.ONE_CLICK)
        return message

    def _unsubscribe(self, db: Connection, mail: Row, hook_ids: Sequence[int]) -> str:
        return links.link(db, self._urls, mail["account_id"], hook_ids)

    def _message(self, db: Connection, mail: Row, subject: str, text: str) -> EmailMessage:
        sender = _address(self._from, NAME)
        message = EmailMessage(POLICY)
        message["From"] = sender
        message["To"] = _address(mail["address"])
        message["Subject"] = subject
        message["Date"] = format_datetime(EPOCH + timedelta(microseconds=db.now))
        message["Message-ID"] = f"<{mail['guid']}@{sender.domain}>"
        # Vacation responders do not answer mails with this header (RFC 3834).
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(text)
        return message

    def _part(self, db: Connection, alert: Row) -> str:
        """Return the lines about an alert and, if the dashboard is on, the URL of its page."""
        lines = [_text(line) for line in summary(self._view(db, alert))]
        if self._dashboard:
            place = f"/ui/hooks/{alert['hook_id']}" if alert["hook_id"] else "/ui/problems"
            lines.append(self._urls.path(place))
        return "\n".join(lines)

    def _view(self, db: Connection, alert: Row) -> EventView:
        name, _, action = alert["kind"].partition(".")
        serialize = operational_events.ops.row_serializers[name]
        ((_, data),) = serialize(self._urls, db, [alert])
        return EventView(name, "", orjson.dumps({"action": action, **data}), alert["opened_at"])

    def _footer(self, db: Connection, mail: Row, hook_ids: Sequence[int]) -> str:
        """Return the reason for the mail, and a link for each hook to unsubscribe from it."""
        lines = [f"-- \nYou get this mail as {mail['login']}, who administers what it is about."]
        for hook_id in hook_ids:
            named = f"hook {hook_id}" if hook_id else "the whole installation"
            link = self._unsubscribe(db, mail, [hook_id])
            lines.append(f"No more mail about {named}: {link}")
        return "\n".join(lines)


def _address(address: str, name: str = "") -> Address:
    # `Address(addr_spec=...)` would reject a local part that is not ASCII.
    local, _, domain = email_address.to_ascii(address).rpartition("@")
    # An address from before such parts were refused may have an encoded word (see `TextHeader`).
    return Address(name, local.replace("=?", "= ?"), domain)


def _text(line: TextLine) -> str:
    """Return a line as printable text."""
    found = "".join(part if isinstance(part, str) else part.text for part in line)
    return "".join(char if char.isprintable() else " " for char in found)[:MOST_LINE]


def _subject(alerts: Sequence[Row], total: int, first: str) -> str:
    if total == 1:
        return f"{MARK} {first.partition(chr(10))[0]}"
    names = list(dict.fromkeys(name_of(alert) for alert in alerts))
    shown = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
    return f"{MARK} {total} alerts: {shown}"[:MOST_LINE]
