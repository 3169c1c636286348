"""Receivers of pull hooks: each fetches and acknowledges as fast as it can, until it is ended."""

import sys
import threading
from http.client import HTTPConnection
from typing import Any

import orjson

from tests.benchmarks.harness.world import NAME, OWNER

BATCH, WAIT = 100, 30


def consume(port: int, token: str, hook_id: str) -> None:
    """Fetch and acknowledge the deliveries of a hook."""
    connection = HTTPConnection("127.0.0.1", port)
    place = f"/repos/{OWNER}/{NAME}/hooks/{hook_id}"

    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "User-Agent": "bench",
    }

    def post(name: str, body: dict[str, Any]) -> Any:
        connection.request("POST", f"{place}/{name}", orjson.dumps(body), headers)
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{name} was answered {answer.status}: {said[:500]!r}")
        return orjson.loads(said)

    while True:
        found = post("dequeue", {"batch": BATCH, "max_wait": WAIT})["deliveries"]
        if found:
            leases = [{"lease_id": one["lease_id"], "status": 200} for one in found]
            post("ack", {"leases": leases})


def main() -> None:
    """Consume all hooks that are named, each in a thread."""
    port, token, *hook_ids = sys.argv[1:]
    threads = [
        threading.Thread(target=consume, args=(int(port), token, hook_id)) for hook_id in hook_ids
    ]
    for thread in threads:
        thread.start()


if __name__ == "__main__":
    main()
