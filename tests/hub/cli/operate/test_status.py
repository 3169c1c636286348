"""`tocsin status`: the numbers of waiting and held deliveries and of workers, and the lag."""

from pathlib import Path
from typing import Any

from hub.cli.service.configuration import Settings
from hub.cli.service.daemon_record import recorded
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


def test_damage_that_the_daemon_met_is_shown(
    run: Any, listed: Any, store: Store, url: str, directory: Path
) -> None:
    settings = Settings(data_dir=directory, store=url)
    with recorded(settings, None) as record:
        assert listed("status")["damage"] is None
        record.damage = "page 7"
        record.keep(settings)
        assert listed("status")["damage"] == "page 7"
        said = run("doctor", code=2).stdout
        assert "the running daemon has met damage: page 7" in said
    assert listed("status")["damage"] is None
