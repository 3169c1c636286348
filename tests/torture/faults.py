"""External faults: each has its documented outcome, and no event is lost."""

import dataclasses
from collections.abc import Awaitable, Callable, Iterable

from tests.torture import fault_database, fault_outside, fault_receivers, fault_room
from tests.torture.finding import Trial

FAULTS: dict[str, Callable[[Trial], Awaitable[None]]] = {
    "full disk": fault_room.full_disk,
    "a write that fails": fault_room.failing_write,
    "full queue": fault_room.full_queue,
    "locked database": fault_database.locked,
    "torn last frame of the log": fault_database.torn_frame,
    "damaged last frame of the log": fault_database.damaged_frame,
    "clock a day forward and back": fault_outside.clock,
    "names that fail and rebind": fault_outside.names,
    "hostile receivers": fault_receivers.hostile,
    "10,000 subscriptions to one slow host": fault_receivers.crowd,
}


async def torture(trial: Trial, names: Iterable[str] = tuple(FAULTS)) -> None:
    """Run all faults or the named ones, each in its own folder."""
    for name in names:
        fault = FAULTS[name]
        trial.report(f"faults: {name}")
        one = dataclasses.replace(trial, folder=trial.folder / name.replace(" ", "-"), findings=[])
        one.folder.mkdir(parents=True)
        await fault(one)
        trial.findings += [
            dataclasses.replace(each, what=f"{name}: {each.what}") for each in one.findings
        ]
