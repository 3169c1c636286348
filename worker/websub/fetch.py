"""Fetching a topic that is hosted elsewhere.

The request goes through the guard, its size is limited, and only changes are distributed.
"""

import asyncio
import re

from store import Row, Store
from store.delivery.websub import websub_foreign
from store.delivery.websub.websub_foreign import TopicContent
from worker.http.client import FetchedResponse, GuardedClient, RequestFailed
from worker.settings import WorkerSettings

UNKNOWN = "application/octet-stream"
FEED = re.compile(r"(application|text)/(atom\+|rss\+)?xml")
UNCHANGED, OK = 304, 200
# Errors that a retry would not avoid.
PERMANENT = ("guard:", "protocol:")


class FetchFailed(Exception):
    """The topic's content could not be fetched.

    `again` says whether a retry may succeed.
    """

    def __init__(self, message: str, *, again: bool) -> None:
        super().__init__(message)
        self.again = again


async def fetch_topic(
    store: Store,
    settings: WorkerSettings,
    client: GuardedClient,
    topic: Row,
    parsing: asyncio.Lock,
) -> None:
    """Fetch a topic, and distribute its content if it has changed.

    `parsing` is held while a feed is parsed.
    """
    try:
        reply = await _get(settings, client, topic)
        content = None if reply.status == UNCHANGED else _content(reply)
    except FetchFailed as trouble:
        await store.write(websub_foreign.mark_failed, topic, str(trouble), again=trouble.again)
        return
    if content is None:
        await store.write(websub_foreign.mark_unchanged, topic)
        return
    if FEED.match(content.content_type):
        # A parser of XML takes memory, and few topics are feeds.
        from worker.websub.feed_diff import remove_known_entries

        # A feed of 1 MiB can take a second. Other work needs the threads, and the event loop too.
        async with parsing:
            before = await store.read(websub_foreign.distributed_body, topic["event_id"])
            content.part = await asyncio.to_thread(remove_known_entries, content.body, before)
    await store.write(websub_foreign.distribute, topic, content)


async def _get(settings: WorkerSettings, client: GuardedClient, topic: Row) -> FetchedResponse:
    try:
        reply = await client.request(
            "GET",
            client.endpoint(topic["url"]),
            headers=_conditions(topic),
            deadline=settings.timeout,
            max_bytes=settings.websub_max_topic_bytes,
        )
    except RequestFailed as error:
        raise _failed(str(error)) from None
    if reply.error is not None:
        raise _failed(reply.error)
    return reply


def _failed(error: str) -> FetchFailed:
    return FetchFailed(error, again=not error.startswith(PERMANENT))


def _conditions(topic: Row) -> dict[str, str]:
    known = {"If-None-Match": topic["etag"], "If-Modified-Since": topic["last_modified"]}
    return {name: value for name, value in known.items() if value}


def _content(reply: FetchedResponse) -> TopicContent:
    status = reply.status
    if status != OK:
        raise FetchFailed(f"status {status}", again=status >= 500 or status == 429)
    if reply.truncated:
        raise FetchFailed("the topic is larger than websub_max_topic_bytes", again=False)
    encoding = _printable(reply, "content-encoding")
    if encoding is not None and encoding.lower() != "identity":
        raise FetchFailed("the topic comes compressed though that was not asked for", again=False)
    return TopicContent(
        reply.body,
        _printable(reply, "content-type") or UNKNOWN,
        _printable(reply, "etag"),
        _printable(reply, "last-modified"),
    )


def _printable(reply: FetchedResponse, name: str) -> str | None:
    value = reply.header(name)
    return value if value is not None and value.isprintable() else None
