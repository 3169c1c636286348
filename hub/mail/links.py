"""Signed links to the page for unsubscribing from mails. They need no sign-in, and never expire."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from hub.http.errors import Forbidden
from hub.http.numbers import natural
from hub.rest.urls import Urls
from store import Connection

PATH = "/alerts/unsubscribe"
PURPOSE = "mail subscription"
ONE_CLICK = ("List-Unsubscribe", "One-Click")
"""The field of the form that mail programs send (RFC 8058), and its value."""
# The most hooks of one link. A mail describes at most so many alerts, each about one hook.
MOST = 50
REFUSED = "The link is not complete, or this server did not issue it. Copy it from the mail again."


@dataclass(frozen=True, slots=True)
class MailSubscription:
    """An account, and hooks that it gets mail about. 0 stands for the whole installation."""

    account_id: int
    hook_ids: tuple[int, ...]

    @property
    def message(self) -> str:
        """Return the text that is signed."""
        return f"{self.account_id} {self.listed}"

    @property
    def listed(self) -> str:
        return "-".join(map(str, self.hook_ids))


def link(db: Connection, urls: Urls, account_id: int, hook_ids: Collection[int]) -> str:
    """Return the link with which an account unsubscribes from mails about these hooks."""
    wanted = MailSubscription(account_id, tuple(sorted(set(hook_ids))))
    query = {
        "account": wanted.account_id,
        "hooks": wanted.listed,
        "signature": db.vault.sign(PURPOSE, wanted.message),
    }
    return f"{urls.root}{PATH}?{urlencode(query)}"


def followed(db: Connection, query: Mapping[str, str]) -> MailSubscription:
    """Return the subscription that a link is for. Raises Forbidden if the link was altered."""
    account_id = natural(query.get("account", ""))
    hook_ids = [natural(part) for part in query.get("hooks", "").split("-", MOST)]
    if account_id is None or len(hook_ids) > MOST:
        raise Forbidden(REFUSED)
    found = MailSubscription(account_id, tuple(one for one in hook_ids if one is not None))
    if len(found.hook_ids) < len(hook_ids):
        raise Forbidden(REFUSED)
    if not db.vault.signed(PURPOSE, found.message, query.get("signature", "")):
        raise Forbidden(REFUSED)
    return found
