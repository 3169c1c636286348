"""The outcome of an attempt: its record, and its effects on the delivery and the hook."""

from dataclasses import dataclass

from store.database.notifications import Turn
from store.hooks.hook_secrets import Taken
from store.trace_context import TraceContext

INSERTED = (
    "delivery_id, hook_id, event_id, repo_id, number, redelivery, started_at, duration,"
    " status_code, error, url, address, timings, request_head, response_head, response_body,"
    " instruction, installation_id, recorded_at"
)


@dataclass(slots=True)
class Outcome:
    """One attempt and its effect. Times are microseconds."""

    lease_id: int
    delivery_id: int
    hook_id: int
    event_id: int
    repo_id: int
    number: int
    redelivery: int
    started_at: int
    duration: int
    status_code: int | None
    error: str | None
    url: str
    address: str | None
    timings: str
    request_head: str
    response_head: str | None
    response_body: str | None
    state: int
    due_at: int
    disable: str | None = None
    """The reason to disable the hook at once, or None."""
    disable_after: int = 0
    """The hook is disabled if it has been failing for this long. 0 never disables it."""
    accepted_at: int | None = None
    """The time at which the event was accepted, or None for a redelivery."""
    cooldown_until: int | None = None
    """The time until which the endpoint gets no request, or None. The circuit breaker sets it."""
    held_until: int | None = None
    """The time until which the receiver asked for nothing more, or None."""
    throttled: bool = False
    """Whether the attempt uses up no retry, because it was answered 429."""
    instruction: str | None = None
    """The receiver's instruction, such as "retry-after=120", or None."""
    taken: Taken | None = None
    """The secret that the receiver has, if two are valid and this attempt showed which it is."""
    turn: Turn | None = None
    """The delivery's place, if its hook is ordered."""
    installation_id: int | None = None
    """The installation in the payload, if the hook belongs to an app."""
    recorded_at: int | None = None
    """The present time, if `duration` is not the time from the start until now."""
    trace: TraceContext | None = None
    """The attempt's own place in a trace, if its span is exported."""
    version: int = 0
    """The version of the hook for which the attempt was made."""
    died: bool = False
    """Whether the delivery is dead by this attempt. `record` sets it: another worker may have the
    delivery."""

    @property
    def ended_at(self) -> int:
        """Return when the answer came."""
        return self.recorded_at or self.started_at + self.duration

    def recorded(self) -> tuple[object, ...]:
        """Return the values of the columns in INSERTED."""
        return (
            self.delivery_id,
            self.hook_id,
            self.event_id,
            self.repo_id,
            self.number,
            self.redelivery,
            self.started_at,
            self.duration,
            self.status_code,
            self.error,
            self.url,
            self.address,
            self.timings,
            self.request_head,
            self.response_head,
            self.response_body,
            self.instruction,
            self.installation_id,
            self.recorded_at,
        )
