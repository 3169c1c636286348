"""A replay whose worker is killed in the middle: no event is left out, and none is sent twice."""

from daemon import Site
from waiting import until

from store import Connection, Row
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from store.delivery.replays import replay_runs
from store.delivery.replays.replay_selection import ReplaySelection
from store.hooks import hooks

MANY = 1_200
# Nothing listens on this port.
CLOSED = "http://127.0.0.1:1/closed"


def fill_store(db: Connection) -> int:
    """Create events, then a hook, and a run that replays them to it. Return the run's id."""
    repo_id = db.value("SELECT id FROM repository")
    came = [IncomingEvent(repo_id, f"guid-{at}", repo_id, "push", b"{}") for at in range(MANY)]
    events.accept_all(db, came)
    late = hooks.create(db, repo_id, url=CLOSED, events=["push"], options={"retries": [0]})
    chosen = ReplaySelection(repo_id=repo_id, hook_id=late["id"])
    return int(replay_runs.create(db, chosen, "ada")["id"])


def made(db: Connection) -> list[int]:
    """Return the ids of the replayed events, in order."""
    rows = db.tuples("SELECT event_id FROM delivery WHERE redelivery = 1 ORDER BY id")
    return [event_id for (event_id,) in rows]


async def test_killed_while_much_is_replayed(site: Site) -> None:
    with site.opened() as store:
        run_id = store.write_sync(fill_store)

        def run() -> Row:
            return store.read_sync(replay_runs.get, run_id)

        for _ in range(2):
            before = len(store.read_sync(made))
            worker = await site.serve("--only", "worker", TOCSIN_REPLAY_RATE="400")
            await until(
                lambda least=before: len(store.read_sync(made)) > least, "more replayed events"
            )
            await worker.kill()
            assert run()["ended_at"] is None, "the replay was over at the kill"
            assert run()["made"] == len(store.read_sync(made))
        worker = await site.serve("--only", "worker", TOCSIN_REPLAY_RATE="20000")
        await until(lambda: run()["outcome"] == "done", "the end of the replay")
        found = store.read_sync(made)
        assert found == sorted(set(found)), "each once, in order"
        assert len(found) == run()["made"] == run()["total"] == MANY
        assert await worker.end() == 0
