"""Fetching a topic that is hosted elsewhere: through the guard, to a bound, only if it changed."""

import re

from store import Row, Store
from store.delivery import websub_foreign
from store.delivery.websub_foreign import TopicContent
from worker.delivery.websub_target import build_static_head
from worker.http.addresses import Refused
from worker.http.answer import ExchangeResult
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard
from worker.http.transport import HttpSender
from worker.settings import WorkerSettings
from worker.websub.feed_diff import remove_known_entries

UNKNOWN = "application/octet-stream"
FEED = re.compile(r"(application|text)/(atom\+|rss\+)?xml")
UNCHANGED, OK = 304, 200
# What comes again when nothing is done about it.
PERMANENT = ("guard:", "protocol:")


class FetchFailed(Exception):
    """The topic's content was not to be had; `again`: it may be another time."""

    def __init__(self, message: str, *, again: bool) -> None:
        super().__init__(message)
        self.again = again


async def fetch_topic(
    store: Store, settings: WorkerSettings, guard: Guard, poster: HttpSender, topic: Row
) -> None:
    """Fetch a topic and distribute what changed."""
    try:
        answer = await _get(settings, guard, poster, topic)
        content = None if answer.status == UNCHANGED else _content(answer)
    except FetchFailed as trouble:
        await store.write(websub_foreign.mark_failed, topic, str(trouble), again=trouble.again)
        return
    if content is None:
        await store.write(websub_foreign.mark_unchanged, topic)
        return
    if FEED.match(content.content_type):
        before = await store.read(websub_foreign.distributed_body, topic["event_id"])
        content.part = remove_known_entries(content.body, before)
    await store.write(websub_foreign.distribute, topic, content)


async def _get(
    settings: WorkerSettings, guard: Guard, poster: HttpSender, topic: Row
) -> ExchangeResult:
    try:
        endpoint = guard.endpoint(topic["url"])
    except Refused as error:
        raise FetchFailed(f"guard: {error}", again=False) from None
    answer = await poster.post(
        endpoint,
        _head(endpoint, topic),
        b"",
        deadline=settings.timeout,
        keep=settings.websub_max_topic_bytes,
    )
    if answer.error is not None:
        raise FetchFailed(answer.error, again=not answer.error.startswith(PERMANENT))
    return answer


def _head(endpoint: Endpoint, topic: Row) -> bytes:
    lines = [build_static_head("GET", "", endpoint), "Accept-Encoding: identity\r\n"]
    if topic["etag"]:
        lines.append(f"If-None-Match: {topic['etag']}\r\n")
    if topic["last_modified"]:
        lines.append(f"If-Modified-Since: {topic['last_modified']}\r\n")
    return "".join([*lines, "\r\n"]).encode("latin-1")


def _content(answer: ExchangeResult) -> TopicContent:
    status = answer.status or 0
    if status != OK:
        raise FetchFailed(f"status {status}", again=status >= 500 or status == 429)
    if answer.truncated:
        raise FetchFailed("the topic is larger than websub_max_topic_bytes", again=False)
    fields = {name: value.decode("latin-1") for name, value in reversed(answer.fields())}
    fields = {name: value for name, value in fields.items() if value.isprintable()}
    if fields.get(b"content-encoding", "identity").lower() != "identity":
        raise FetchFailed("the topic comes compressed though that was not asked for", again=False)
    return TopicContent(
        answer.body,
        fields.get(b"content-type") or UNKNOWN,
        fields.get(b"etag"),
        fields.get(b"last-modified"),
    )
