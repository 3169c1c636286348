"""The limit of one PostgreSQL: the statements of the delivery path by plain clients.

A round accepts ten events with ten deliveries each, claims these, and records their attempts, in
three transactions. The rows are as large as in the other benchmarks.
"""

import os
import time
from typing import Any

from tests.benchmarks.harness import apart

EVENTS, FAN_OUT = 10, 10
DELIVERIES = EVENTS * FAN_OUT
SECONDS = 5.0
BODY, HEAD = 2200, 700  # bytes of a compressed body, and of a request's head

ACCEPT = """
WITH made AS (
    INSERT INTO event (guid, scope, repo_id, name, received_at, size, digest, body)
    SELECT %(name)s || n, 1, 1, 'push', %(now)s, 8000, %(digest)s, %(body)s
    FROM generate_series(1, %(events)s) AS n
    ON CONFLICT (guid, scope) DO NOTHING RETURNING id
)
INSERT INTO delivery (event_id, hook_id, repo_id, state, due_at)
SELECT made.id, %(first)s + n, 1, 0, %(now)s FROM made, generate_series(1, %(fan)s) AS n
"""
CLAIM = """
UPDATE delivery SET lease_id = %(lease)s WHERE id = ANY (ARRAY(
    SELECT d.id FROM generate_series(%(first)s + 1, %(first)s + %(fan)s) AS w (hook_id)
    CROSS JOIN LATERAL (
        SELECT x.id FROM delivery x
        WHERE x.hook_id = w.hook_id AND x.state = 0 AND x.lease_id IS NULL AND x.due_at <= %(now)s
        ORDER BY x.due_at LIMIT 128 FOR UPDATE SKIP LOCKED
    ) AS d
)) RETURNING id, event_id, hook_id
"""
COPY = (
    "COPY attempt (delivery_id, hook_id, event_id, repo_id, number, redelivery, started_at,"
    " duration, status_code, url, address, timings, request_head, response_head, response_body)"
    " FROM STDIN"
)
RECORD = """
UPDATE delivery SET state = 1, attempts = 1, lease_id = NULL, due_at = %(now)s
WHERE id = ANY (%(ids)s) AND lease_id + 0 = %(lease)s
"""


def rate(url: str, clients: int) -> float:
    """Return the deliveries a second of `clients` clients, each in its own process."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(clients) as threads:
        runs = [threads.submit(apart.call, client, url=url, number=n) for n in range(clients)]
        return sum(float(run.result()["rate"]) for run in runs)


def client(url: str, number: int) -> dict[str, Any]:
    """Run rounds of one client for SECONDS. Return the `rate` of its deliveries."""
    import psycopg

    body, done = os.urandom(BODY), 0
    # Each client has its own hooks, because workers seldom claim from one hook at once.
    given: dict[str, Any] = {"events": EVENTS, "fan": FAN_OUT, "first": number * 1000}
    given["lease"] = number + 1
    with psycopg.connect(url, autocommit=True) as raw:
        began = time.perf_counter()
        while (now := time.perf_counter()) - began < SECONDS:
            given |= {"now": time.time_ns() // 1000, "name": f"{number}-{done}-"}
            raw.execute(ACCEPT, {**given, "body": body, "digest": body[:16]}, prepare=True)
            rows = raw.execute(CLAIM, given, prepare=True).fetchall()
            _record(raw, rows, given)
            done += len(rows)
        return {"rate": done / (now - began)}


def _record(raw: Any, rows: list[tuple[int, int, int]], given: dict[str, Any]) -> None:
    head, url = "x" * HEAD, "http://127.0.0.1:8080/hooks/1"
    with raw.transaction():
        with raw.cursor().copy(COPY) as copy:
            for delivery_id, event_id, hook_id in rows:
                copy.write_row((
                    delivery_id, hook_id, event_id, 1, 1, 0, given["now"], 900, 204, url,
                    "127.0.0.1", '{"total":900}', head, "Content-Length: 0", "",
                ))  # fmt: skip
        ids = sorted(row[0] for row in rows)
        raw.execute(RECORD, {**given, "ids": ids}, prepare=True)
