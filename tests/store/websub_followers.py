"""Subscribers by WebSub, as the worker leaves them after their verification."""

from urllib.parse import urlsplit

from store.database.connection import Connection
from store.delivery.websub import websub_requests
from store.delivery.websub.websub_topics import Topic

CALLBACK = "https://reader.example/"


def follow_pushes(db: Connection, repo_id: int, callback: str = CALLBACK) -> None:
    """Subscribe to a repository's pushes. A second time renews the subscription."""
    follow(db, Topic(repo_id, "push", "https://hub.example/ada/engine/events/push"), callback)


def follow(db: Connection, topic: Topic, callback: str = CALLBACK) -> None:
    """Subscribe to a topic. A second time renews the subscription."""
    wish = websub_requests.WebSubRequest(
        "subscribe", topic.self_url, topic, "https://hub.example/hub/websub", callback,
        None, 3600, None, str(urlsplit(callback).hostname), "192.0.2.1",
    )  # fmt: skip
    websub_requests.create(db, wish, 60, 60)
    (request,) = websub_requests.claim(db, 1)
    websub_requests.complete(db, request, "verified", db.now)
