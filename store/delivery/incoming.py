"""Events on their way in, and the receipts for their senders."""

import hashlib
from dataclasses import dataclass, field

from store.database import body_codec
from store.trace_context import TraceContext

# Numbers in place of a source's id. LOCAL_SOURCE marks changes made through the API, which the
# state already has. REPUBLISHED_SOURCE marks a snapshot of the state, EXAMPLE_SOURCE an example
# that a person sent to one hook, and SHARED_EXAMPLE_SOURCE one for all hooks that subscribe. None
# of these events changes the state.
LOCAL_SOURCE, REPUBLISHED_SOURCE, EXAMPLE_SOURCE, SHARED_EXAMPLE_SOURCE = -1, -2, -3, -4
EXAMPLE_SOURCES = (EXAMPLE_SOURCE, SHARED_EXAMPLE_SOURCE)


@dataclass(slots=True)
class IncomingEvent:
    """An event that is to be accepted.

    `scope` is the namespace of its `guid`: a repository's id, or minus a source's id. `repo_id` is
    0 if the event belongs to no known repository. Then `org_id` may be the organization that it
    belongs to. `source_id` is 0 if a caller posted it with a token. `body` is the exact JSON text.
    """

    scope: int
    guid: str
    repo_id: int
    name: str
    body: bytes
    action: str | None = None
    source_id: int = 0
    installation_id: int | None = None
    org_id: int = 0
    packed: bytes = b""
    digest: bytes = b""
    token_id: int | None = None
    """The token with which a caller posted it, or None."""
    trace: TraceContext | None = None
    """The place in a trace from which it comes, or None."""

    def __post_init__(self) -> None:
        # This runs on the caller's thread, because all callers share the writer's time.
        self.packed = body_codec.compress(self.body)
        self.digest = hashlib.sha256(self.body).digest()[:16]


@dataclass(slots=True)
class Receipt:
    """The answer to an event's sender. It is the same for each repetition, but for `duplicate`."""

    event_id: int
    guid: str
    deliveries: int
    duplicate: bool
    filtered: list[int] = field(default_factory=list)
    """The hooks whose filters left the event out."""
