"""A hub and a worker that change one subscription at the same time."""

from engines import served
from racing import overlap
from store_world import World
from websub_followers import CALLBACK, follow_pushes

from store import Store
from store.delivery.outcomes import attempt_outcomes
from store.delivery.websub import websub
from store.ordering.delivery_states import DEAD, WAITING

pytestmark = served("SQLite has one writer at a time")


def test_410_leaves_a_subscription_that_is_renewed_meanwhile(
    world: World, other: Store, url: str
) -> None:
    world.store.write_sync(follow_pushes, world.repo["id"])
    world.arrive("g-1")
    (before,) = world.store.read_sync(websub.page, limit=9)
    lease = world.lease()
    (claimed,) = world.claim(lease, -before["id"])
    gone = world.failure(
        lease, claimed, url=CALLBACK, state=DEAD, disable="gone", version=before["version"]
    )
    renew = (world.store, lambda db: follow_pushes(db, world.repo["id"]))
    overlap(url, renew, (other, lambda db: attempt_outcomes.record(db, [gone])))
    (after,) = world.store.read_sync(websub.page, limit=9)
    assert after["version"] == before["version"] + 1
    assert world.row(claimed.id)["state"] == WAITING
