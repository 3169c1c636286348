"""`tocsin status`: the numbers of waiting and held deliveries and of workers, and the lag."""

from typing import Any

from store import Store
from store.clock import HOUR, SECOND
from store.delivery import deliveries, leases


def test_waiting_and_held_deliveries_are_counted(
    run: Any, listed: Any, store: Store, hook_id: int
) -> None:
    found = listed("status")
    assert (found["deliveries_waiting"], found["deliveries_held"], found["workers"]) == (2, 0, 0)
    assert found["seconds_behind"] > 0
    lease = store.write_sync(leases.acquire, "tests", HOUR)
    store.write_sync(deliveries.claim, [hook_id], lease, 1)
    store.write_sync(leases.renew, lease, HOUR, 0)
    found = listed("status")
    assert (found["deliveries_held"], found["workers"], found["seconds_behind"]) == (1, 1, 0)
    store.write_sync(leases.renew, lease, HOUR, SECOND // 2)
    assert listed("status")["oldest_due_at"] is not None
    assert "seconds_behind\t" in run("status").stdout
