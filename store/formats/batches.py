"""The bodies of batches, and the answers to them.

A body is a JSON array of events, each in the hook's format. CloudEvents have a batch type of their
own. The platform's format has an event's name and id in headers only, so each payload gets an
object around it. An answer may name the events that failed.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence

import orjson

from store.formats.formats import JSON, PLATFORM

BATCHED = (PLATFORM, "cloudevents_structured", "thin")
"""The formats that can be sent in batches: their bodies are JSON and name the event."""
HEADER = "webhook-batch"
"""The header that says how many events a request has."""
# The bytes around the elements, and between two of them.
AROUND, BETWEEN = 2, 1
_NAMESPACE = uuid.UUID("6f1c5c0e-51a4-4be3-9a2d-8f0c1b7e5d43")


class UnreadableAnswer(ValueError):
    """An answer says that events failed, and does not say which."""


def media_type(format_: str) -> str:
    return "application/cloudevents-batch+json" if format_ == "cloudevents_structured" else JSON


def element(name: str, guid: str, body: bytes, more: Mapping[str, str]) -> bytes:
    """Return an event in the platform's format as an element of a batch, with more members."""
    about = {"id": guid, "event": name, **more}
    return orjson.dumps({**about, "payload": orjson.Fragment(body)})


def join(elements: Sequence[bytes]) -> bytes:
    return b"[%b]" % b",".join(elements)


def size(elements: Iterable[bytes]) -> int:
    """Return the size of the body that `join` returns."""
    return AROUND - BETWEEN + sum(len(one) + BETWEEN for one in elements)


def batch_id(guids: Iterable[str]) -> str:
    """Return the id of a batch. The same events in the same sequence have the same id.

    So a receiver that knows the id knows the whole batch.
    """
    return str(uuid.uuid5(_NAMESPACE, "\n".join(guids)))


def failed_ids(answer: bytes, guids: Collection[str], *, truncated: bool = False) -> set[str]:
    """Return the ids of events that the receiver named as failed, by the body of its answer.

    `guids` are the ids in the batch. `truncated` says whether the answer has more bytes. Raises
    UnreadableAnswer if events may have failed and it is not clear which.
    """
    if truncated and answer.lstrip()[:1] == b"{":
        raise UnreadableAnswer("the answer is too long to be read as JSON")
    try:
        found = orjson.loads(answer)
    except orjson.JSONDecodeError:
        return set()
    named = found.get("failed") if isinstance(found, dict) else None
    if not named:
        return set()
    if not isinstance(named, list) or not all(isinstance(one, str) for one in named):
        raise UnreadableAnswer("the member failed of the answer is no list of ids")
    failed = set(named)
    if not failed.issubset(guids):
        # The name is left out, because a receiver may send the hook's secrets back.
        raise UnreadableAnswer("the answer names an id that is not in the batch")
    return failed
