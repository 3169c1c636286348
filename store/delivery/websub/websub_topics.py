"""WebSub topics: their keys, their URLs, and the events that change them."""

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import quote

JSON = "application/json"
FEEDS = {"events.json": "application/feed+json", "events.atom": "application/atom+xml"}
"""The topics with a repository's last events, and the media type of each."""
PUBLIC_EVENTS = frozenset(
    [
        "check_run",
        "check_suite",
        "commit_comment",
        "create",
        "delete",
        "deployment",
        "deployment_status",
        "discussion",
        "discussion_comment",
        "fork",
        "gollum",
        "issue_comment",
        "issue_dependencies",
        "issues",
        "label",
        "merge_group",
        "milestone",
        "public",
        "pull_request",
        "pull_request_review",
        "pull_request_review_comment",
        "pull_request_review_thread",
        "push",
        "release",
        "star",
        "status",
        "sub_issues",
        "watch",
        "workflow_job",
        "workflow_run",
    ]
)
"""Events that everybody may see in a public repository. Others are for its administrators only."""
CONTENT_EVENT = "websub"
"""The name of an event that holds the content of a topic hosted elsewhere."""

ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
NOT_ASCII = re.compile("[^\\x00-\\x7f]+")
UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic. `repo_id` is 0 if it is hosted elsewhere. `self_url` is its canonical URL."""

    repo_id: int
    key: str
    self_url: str


def normalize_url(url: str) -> str:
    """Decode the unnecessary escapes of a URL, so that equivalent URLs become equal."""

    def undone(found: re.Match[str]) -> str:
        character = chr(int(found[1], 16))
        return character if character in UNRESERVED else found[0].upper()

    return NOT_ASCII.sub(lambda found: quote(found[0]), ESCAPE.sub(undone, url))


def external_topic(url: str) -> Topic:
    """Return the topic with this URL, which is hosted elsewhere."""
    return Topic(0, digest(normalize_url(url)), normalize_url(url))


def digest(*parts: object) -> str:
    """Return a digest of texts that are too long for an index."""
    return hashlib.sha256("\n".join(str(part) for part in parts).encode()).hexdigest()


def subscription_key(topic: Topic, callback: str) -> str:
    return digest(topic.repo_id, topic.key, normalize_url(callback))


def events_of(key: str) -> list[str]:
    """Return the events that change a repository's topic."""
    return sorted(PUBLIC_EVENTS) if key in FEEDS else [key]


def content_type(key: str) -> str:
    """Return the media type of a repository's topic."""
    return FEEDS.get(key, JSON)
