"""Fetching a topic that is hosted elsewhere: through the guard, to a bound, only if it changed."""

import re

from store import Row, Store, websub_foreign
from store.websub_foreign import Content
from worker.addresses import Refused
from worker.answer import Answer
from worker.endpoint import Endpoint
from worker.guard import Guard
from worker.settings import WorkerSettings
from worker.transport import Poster
from worker.websub_diff import without_known
from worker.websub_target import standing

UNKNOWN = "application/octet-stream"
FEED = re.compile(r"(application|text)/(atom\+|rss\+)?xml")
UNCHANGED, OK = 304, 200
# What comes again when nothing is done about it.
FINAL = ("guard:", "protocol:")


class Trouble(Exception):
    """The topic's content was not to be had; `again`: it may be another time."""

    def __init__(self, message: str, *, again: bool) -> None:
        super().__init__(message)
        self.again = again


async def fetch(
    store: Store, settings: WorkerSettings, guard: Guard, poster: Poster, topic: Row
) -> None:
    """Fetch a topic and distribute what changed."""
    try:
        answer = await _get(settings, guard, poster, topic)
        content = None if answer.status == UNCHANGED else _content(answer)
    except Trouble as trouble:
        await store.write(websub_foreign.failed, topic, str(trouble), again=trouble.again)
        return
    if content is None:
        await store.write(websub_foreign.unchanged, topic)
        return
    if FEED.match(content.content_type):
        before = await store.read(websub_foreign.body_of, topic["event_id"])
        content.part = without_known(content.body, before)
    await store.write(websub_foreign.distribute, topic, content)


async def _get(settings: WorkerSettings, guard: Guard, poster: Poster, topic: Row) -> Answer:
    try:
        endpoint = guard.endpoint(topic["url"])
    except Refused as error:
        raise Trouble(f"guard: {error}", again=False) from None
    answer = await poster.post(
        endpoint,
        _head(endpoint, topic),
        b"",
        deadline=settings.timeout,
        keep=settings.websub_max_topic_bytes,
    )
    if answer.error is not None:
        raise Trouble(answer.error, again=not answer.error.startswith(FINAL))
    return answer


def _head(endpoint: Endpoint, topic: Row) -> bytes:
    lines = [standing("GET", "", endpoint), "Accept-Encoding: identity\r\n"]
    if topic["etag"]:
        lines.append(f"If-None-Match: {topic['etag']}\r\n")
    if topic["last_modified"]:
        lines.append(f"If-Modified-Since: {topic['last_modified']}\r\n")
    return "".join([*lines, "\r\n"]).encode("latin-1")


def _content(answer: Answer) -> Content:
    status = answer.status or 0
    if status != OK:
        raise Trouble(f"status {status}", again=status >= 500 or status == 429)
    if answer.truncated:
        raise Trouble("the topic is larger than websub_max_topic_bytes", again=False)
    fields = {name: value.decode("latin-1") for name, value in reversed(answer.fields())}
    fields = {name: value for name, value in fields.items() if value.isprintable()}
    if fields.get(b"content-encoding", "identity").lower() != "identity":
        raise Trouble("the topic comes compressed though that was not asked for", again=False)
    return Content(
        answer.body,
        fields.get(b"content-type") or UNKNOWN,
        fields.get(b"etag"),
        fields.get(b"last-modified"),
    )
