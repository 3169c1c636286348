"""Helpers for tests of incoming events: hooks, and the stored or refused events."""

import httpx

from store import Row, Store
from store.delivery import event_queries, rejections

HOOKS = "/repos/octo/hello/hooks"


def kept(store: Store) -> list[Row]:
    return store.read_sync(lambda db: event_queries.newest(db, limit=100))


def refused(store: Store) -> list[Row]:
    return store.read_sync(lambda db: rejections.page(db))


async def hook_for(client: httpx.AsyncClient, *names: str) -> int:
    config = {"url": "https://receiver.example/" + "-".join(names)}
    answer = await client.post(HOOKS, json={"config": config, "events": list(names)})
    number: int = answer.json()["id"]
    return number
