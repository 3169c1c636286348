"""Bodies for the incoming webhooks of chats: Slack, Mattermost, Discord, Microsoft Teams.

Texts come from anybody who can write a commit, so they are escaped: they notify nobody, and no link
hides where it leads.
"""

import re
from collections.abc import Callable
from typing import Any

from store import json_bytes
from store.formats.event_view import EventView
from store.formats.summary import TextLine, TextLink, summary

MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|<>~])")
# Discord accepts no longer text, and the others show no more.
MOST = 2000
# No character has more than five when it is escaped (`&amp;`).
MOST_PLAIN = MOST // 5
ZERO_WIDTH = "\u200b"


def _printable(text: str) -> str:
    # A payload's text may have millions of characters, and escaping them takes seconds.
    return "".join(char if char.isprintable() else " " for char in text[:MOST])


def _slack_text(text: str) -> str:
    return _printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _slack_link(link: TextLink) -> str:
    url = _web(link.url)
    if url is None:
        return _slack_text(link.text)
    return f"<{_slack_text(url).replace('|', '%7C')}|{_slack_text(link.text)}>"


def _markdown_text(text: str) -> str:
    escaped = MARKUP.sub(r"\\\1", _printable(text))
    # A character without a width keeps names from notifying anybody.
    return escaped.replace("@", f"@{ZERO_WIDTH}")


def _markdown_link(link: TextLink) -> str:
    url = _web(link.url)
    if url is None:
        return _markdown_text(link.text)
    target = url.replace("(", "%28").replace(")", "%29")
    return f"[{_markdown_text(link.text)}]({target})"


def _web(url: str | None) -> str | None:
    """Return a URL if it leads to a page and has no odd characters, else None."""
    if url is None or not re.fullmatch(r"https?://[!-~]{1,1000}", url) or re.search(r'[<>"]', url):
        return None
    return url


def _slack(lines: list[TextLine]) -> dict[str, Any]:
    return {"text": _joined(lines, _slack_text, _slack_link, "\n")}


def _mattermost(lines: list[TextLine]) -> dict[str, Any]:
    return {"text": _joined(lines, _markdown_text, _markdown_link, "\n")}


def _discord(lines: list[TextLine]) -> dict[str, Any]:
    content = _joined(lines, _markdown_text, _markdown_link, "\n")
    return {"content": content, "allowed_mentions": {"parse": []}}


def _teams(lines: list[TextLine]) -> dict[str, Any]:
    text = _joined(lines, _markdown_text, _markdown_link, "\n\n")
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "TextBlock", "text": text, "wrap": True}],
    }
    kind = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": kind, "content": card}]}


def _joined(
    lines: list[TextLine], text: Callable[[str], str], link: Callable[[TextLink], str], end: str
) -> str:
    found = ""
    for line in lines:
        made = "".join(link(part) if isinstance(part, TextLink) else text(part) for part in line)
        # Lines are added as a whole, because a part of a link does not work.
        if len(found) + len(made) > MOST - len(end):
            break
        found += f"{end}{made}" if found else made
    # Chats reject an empty message. The name of a branch alone may be longer than a message.
    return found or text("".join(map(_plain, lines[0]))[:MOST_PLAIN])


def _plain(part: str | TextLink) -> str:
    return part if isinstance(part, str) else part.text


_CHATS: dict[str, Callable[[list[TextLine]], dict[str, Any]]] = {
    "slack": _slack,
    "mattermost": _mattermost,
    "discord": _discord,
    "teams": _teams,
}
CHATS = tuple(_CHATS)


def render(chat: str, event: EventView) -> bytes:
    return json_bytes.dumps(_CHATS[chat](summary(event)))
