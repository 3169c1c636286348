"""The log of deliveries that are dead: a line a hook for each group that was recorded."""

import logging
from collections.abc import Sequence

from store.delivery.attempts import DEAD, Outcome
from worker.delivery.metrics import stage_of

log = logging.getLogger("tocsin.worker")


def log_dead(outcomes: Sequence[Outcome]) -> None:
    """Log those that have no attempt left. Of the answer there is the status alone, of an error
    the stage: the rest came from outside.
    """
    dead: dict[int, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.state == DEAD:
            dead.setdefault(outcome.hook_id, []).append(outcome)
    for hook_id, ended in dead.items():
        _log_hook(hook_id, len(ended), ended[-1])


def _log_hook(hook_id: int, many: int, last: Outcome) -> None:
    why = stage_of(last.error) if last.error is not None else f"status {last.status_code}"
    about = {"hook_id": hook_id, "delivery_id": last.delivery_id, "event_id": last.event_id}
    log.warning(
        "hook %d: %d deliveries are dead; the last ended with attempt %d: %s",
        hook_id,
        many,
        last.number,
        why,
        extra={"about": about},
    )
