"""A trial: one request to a receiver outside the queue. Nothing of it is stored."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from store.database.connection import Row
from store.hooks.hook_options import DeliveryOptions
from store.hooks.hook_targets import HookTarget, repository
from store.hooks.signing_keys import SigningKey


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """The request to try, for a hook that need not exist yet (`hook_id` 0).

    `repo_id` is the repository of the event, 0 if it has none. `target` is the target of the hook,
    if that is not this repository. `repository` is the event's repository if the body has none.
    """

    repo_id: int
    url: str
    content_type: str
    insecure_ssl: bool
    secret: str | None = field(repr=False)
    event: str
    guid: str
    body: bytes = field(repr=False)
    hook_id: int = 0
    keys: Sequence[SigningKey] = field(default=(), repr=False)
    options: DeliveryOptions = field(default_factory=DeliveryOptions)
    target: HookTarget | None = None
    repository: dict[str, Any] = field(default_factory=dict)

    def as_row(self) -> Row:
        """Return the hook as if it were stored; its secret is not in the row."""
        known: dict[str, Any] = {
            "id": self.hook_id,
            **(self.target or repository(self.repo_id)).columns,
            "url": self.url,
            "content_type": self.content_type,
            "insecure_ssl": int(self.insecure_ssl),
            "options": self.options.model_dump(exclude_none=True),
        }
        fixed = {"version": 0, "active": 1, "deleted_at": None, "paused_at": None}
        return {
            **known,
            **fixed,
            "held_until": None,
            "certificate_ends_at": None,
            "handshake": None,
            "handshake_rate": None,
        }


@dataclass(frozen=True, slots=True)
class TrialAnswer:
    """The request as it was sent, and the answer. Secrets in the answer are masked.

    `duration` is in microseconds. `error` is None if there was an answer.
    """

    request_head: str
    request_body: bytes
    duration: int = 0
    status_code: int | None = None
    error: str | None = None
    address: str | None = None
    response_head: str | None = None
    response_body: str | None = None

    @property
    def succeeded(self) -> bool:
        """Return whether a delivery would count as delivered."""
        return self.error is None and self.status_code is not None and 200 <= self.status_code < 300
