"""Many attempts with their payloads and answers, made by few statements."""

import json
from collections.abc import Sequence

from store import Connection
from store.database import body_codec

Text = tuple[bytes, str | None]
"""A payload and an answer."""
EVENT = "guid, scope, repo_id, name, received_at, size, digest, body"
DELIVERY = "event_id, hook_id, repo_id, state, attempts, due_at"
ATTEMPT = (
    "delivery_id, hook_id, event_id, repo_id, number, redelivery, started_at, duration,"
    " status_code, url, timings, request_head, response_head, response_body"
)
HEAD = "POST /hook HTTP/1.1\r\nHost: receiver.example\r\nContent-Type: application/json\r\n"
URL = "https://receiver.example/hook"


def add_attempts(
    db: Connection, hook_id: int, texts: Sequence[Text], *, name: str = "push", fanout: int = 1
) -> list[int]:
    """Add an event with attempts for each of these texts. Return the attempts' ids."""
    repo_id = db.value("SELECT repo_id FROM hook WHERE id = :id", id=hook_id)
    start = db.value("SELECT coalesce(max(id), 0) FROM event") + 1
    rows = db.insert_many(
        "event",
        EVENT,
        [
            (f"g-{start + at}", repo_id, repo_id, name, db.now, len(body), b"\0", packed)
            for at, (body, _) in enumerate(texts)
            for packed in [body_codec.compress(body)]
        ],
        "RETURNING id",
    )
    answers = dict(zip(sorted(row[0] for row in rows), (one for _, one in texts), strict=True))
    made = db.insert_many(
        "delivery",
        DELIVERY,
        [(event_id, hook_id, repo_id, 1, 1, db.now) for event_id in answers for _ in range(fanout)],
        "RETURNING id, event_id",
    )
    timings = json.dumps({"total": 20_000})
    tail = (repo_id, 1, 0, db.now, 20_000, 200, URL, timings, HEAD, "HTTP/1.1 200 OK")
    attempts = [
        (delivery_id, hook_id, event_id, *tail, answers[event_id])
        for delivery_id, event_id in sorted(made)
    ]
    found = db.insert_many("attempt", ATTEMPT, attempts, "RETURNING id")
    return sorted(row[0] for row in found)
