"""Commands that list, skip and discard the keys of an ordered hook."""

import json

from store import Connection, Store
from store.delivery import deliveries, leases, outbox
from store.delivery.outcomes import attempt_outcomes
from store.delivery.outcomes.outcome import Outcome
from store.hooks import hooks
from store.ordering.delivery_states import DEAD


def block(db: Connection, hook_id: int) -> None:
    """Emit three events with the key 7. The first delivery is dead and blocks the key."""
    row = hooks.by_id(db, hook_id)
    assert row is not None
    hooks.update(db, row, options={"ordering": {"path": "/n"}, "on_exhausted": "block"})
    for step in range(3):
        outbox.emit(db, "push", None, row["repo_id"], {"n": 7, "step": step})
    lease = leases.acquire(db, "test", 1_000_000)
    claimed, _ = deliveries.claim(db, [hook_id], lease, 10)
    (one,) = (one for one in claimed if one.turn is not None)
    outcome = Outcome(
        lease_id=lease,
        delivery_id=one.id,
        hook_id=hook_id,
        event_id=one.event_id,
        repo_id=row["repo_id"],
        number=1,
        redelivery=0,
        started_at=db.now,
        duration=1,
        status_code=500,
        error=None,
        url=row["url"],
        address=None,
        timings="{}",
        request_head="POST / HTTP/1.1",
        response_head="",
        response_body="",
        state=DEAD,
        due_at=db.now,
        turn=one.turn,
    )
    attempt_outcomes.record(db, [outcome])


def test_a_blocked_key_is_listed_and_skipped(run, listed, store: Store, hook_id):
    assert "has no key" in run("hook", "ordering-keys", hook_id).output
    store.write_sync(block, hook_id)
    (key,) = listed("hook", "ordering-keys", hook_id)
    assert (key["key"], key["state"], key["behind"], key["sequence"]) == ("7", "blocked", 2, 1)
    assert key["gap"] == [key["guid"]]
    shown = json.loads(run("hook", "show", hook_id, "--json").stdout)
    assert shown["ordering"]["blocked"] == 1
    assert shown["waiting"] == 2
    assert "goes on" in run("hook", "skip", hook_id, "7").output
    (key,) = listed("hook", "ordering-keys", hook_id)
    assert (key["state"], key["behind"], key["sequence"]) == ("waiting", 1, 2)


def test_all_of_a_key_is_discarded(run, listed, store: Store, hook_id):
    store.write_sync(block, hook_id)
    done = run("hook", "discard", hook_id, "7")
    assert "discarded 2 deliveries of the key '7'" in done.output
    assert listed("hook", "ordering-keys", hook_id) == []
    nothing = run("hook", "skip", hook_id, "7", code=4)
    assert "has nothing to skip" in nothing.output


def test_a_hook_is_made_with_an_ordering(run, store: Store, hook_id):
    run("hook", "edit", hook_id, "--ordering", "/pull_request/id", "--on-exhausted", "block")
    row = store.read_sync(hooks.by_id, hook_id)
    assert row["options"] == {
        "ordering": {"path": "/pull_request/id"},
        "on_exhausted": "block",
    }
    for words, said in (
        (["--ordering", "/a~2"], "ordering: in a JSON Pointer, ~ is written ~0"),
        (
            ["--ordering", "queue"],
            "ordering: use none, hook, repository or a path, such as /a/b, not 'queue'",
        ),
        (["--on-exhausted", "stop"], "on_exhausted: Input should be 'skip' or 'block'"),
        (["--max-block", "0"], "max_block: Input should be greater than 0"),
    ):
        output = run("hook", "edit", hook_id, *words, code=2).output
        assert said in output
        assert ";" not in output, "a problem is reported once"
    run("hook", "edit", hook_id, "--ordering", "default", "--on-exhausted", "default")
    assert store.read_sync(hooks.by_id, hook_id)["options"] == {}
