"""A hub and a worker that change one subscription at the same time."""

from collections.abc import Iterator

import pytest
from engines import engine_url
from racing import overlap
from store_world import World

from store import Connection, Store
from store.delivery import attempt_outcomes
from store.delivery.websub import websub, websub_requests
from store.delivery.websub.websub_topics import Topic
from store.ordering.delivery_states import DEAD, WAITING

CALLBACK = "https://reader.example/"


@pytest.fixture
def url() -> Iterator[str]:
    with engine_url("postgres") as named:
        yield named


def _subscribe(db: Connection, repo_id: int) -> None:
    topic = Topic(repo_id, "push", "https://hub.example/ada/engine/events/push")
    wish = websub_requests.WebSubRequest(
        "subscribe", topic.self_url, topic, "https://hub.example/hub/websub", CALLBACK,
        None, 3600, None, "reader.example", "192.0.2.1",
    )  # fmt: skip
    websub_requests.create(db, wish, 60, 60)
    (request,) = websub_requests.claim(db, 1)
    websub_requests.complete(db, request, "verified", db.now)


def test_410_leaves_a_subscription_that_is_renewed_meanwhile(
    world: World, other: Store, url: str
) -> None:
    world.store.do(_subscribe, world.repo["id"])
    world.arrive("g-1")
    (before,) = world.store.look(websub.page, limit=9)
    lease = world.lease()
    (claimed,) = world.claim(lease, -before["id"])
    gone = world.failure(
        lease, claimed, url=CALLBACK, state=DEAD, disable="gone", version=before["version"]
    )
    renew = (world.store, lambda db: _subscribe(db, world.repo["id"]))
    overlap(url, renew, (other, lambda db: attempt_outcomes.record(db, [gone])))
    (after,) = world.store.look(websub.page, limit=9)
    assert after["version"] == before["version"] + 1
    assert world.row(claimed.id)["state"] == WAITING
