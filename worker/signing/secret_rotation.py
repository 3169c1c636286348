"""The overlap of a secret's rotation, in which a hook's deliveries are signed with two secrets.

The receiver knows the former or the new secret, and does not say which. Headers with room for one
signature use the former secret until the receiver refuses it, then the new one. Once the receiver
has accepted the new one, it comes first for good: the store keeps this for all workers. An
additional header has the other signature. `webhook-signature` has both, as its standard says.
"""

from dataclasses import dataclass, field

from store import Connection, Row
from store.clock import SECOND
from store.hooks import hook_secrets
from store.hooks.hook_secrets import Taken
from worker.signing.sign import Signer

# Statuses that say nothing about the signature: too slow, gone, too large, too early, too many.
UNRELATED_STATUSES = (408, 410, 413, 425, 429)
# The most deliveries to remember that a receiver refused after it had accepted the new secret.
MOST_REFUSED = 1000


@dataclass(slots=True)
class SecretOverlap:
    """A former secret, which is valid until a time (microseconds)."""

    until: int
    secret: str
    signer: Signer
    confirmed: bool = False
    """Whether the receiver has accepted the new secret."""
    prefers_new: bool = False
    """Whether the former secret was refused last, so that the new one is tried."""
    refused: set[int] = field(default_factory=set)
    """The deliveries that were refused with the new secret although it was confirmed."""
    changed_at: int = 0
    """When the hook last changed (microseconds). Its rotation was not later."""

    def __repr__(self) -> str:
        return f"Overlap(until={self.until})"

    def is_active(self, timestamp: int) -> bool:
        """Return whether the former secret is still valid at this time (seconds)."""
        return timestamp * SECOND < self.until

    def new_first(self, delivery_id: int) -> bool:
        """Return whether the new secret comes first in the next attempt at this delivery."""
        return delivery_id not in self.refused if self.confirmed else self.prefers_new

    def learn(self, delivery_id: int, new_first: bool, status: int | None) -> Taken | None:
        """Learn from the answer to an attempt. Return what the store has to keep, or None."""
        if status is None:
            return None
        accepted = 200 <= status < 300
        refused = 400 <= status < 500 and status not in UNRELATED_STATUSES
        if self.confirmed:
            return self._learn_of_one(delivery_id, new_first, accepted, refused)
        if accepted and new_first:
            return self._decide(new=True)
        if refused and new_first == self.prefers_new:
            self.prefers_new = not new_first
        return None

    def _learn_of_one(
        self, delivery_id: int, new_first: bool, accepted: bool, refused: bool
    ) -> Taken | None:
        # A receiver may refuse for other reasons. So only the next attempt at this delivery uses
        # the former secret, and its answer decides.
        if refused and new_first:
            if len(self.refused) >= MOST_REFUSED:
                self.refused.clear()
            self.refused.add(delivery_id)
        elif accepted and not new_first and delivery_id in self.refused:
            return self._decide(new=False)
        elif accepted or refused:
            self.refused.discard(delivery_id)
        return None

    def _decide(self, *, new: bool) -> Taken:
        self.confirmed = self.prefers_new = new
        self.refused.clear()
        return Taken(self.until, new)

    def new_first_if_fetched(self, attempts: int) -> bool:
        """Return whether the new secret comes first in a fetched delivery after so many attempts.

        Any hub may hand it out, and a receiver may reject it without a status. So nothing is
        remembered, and each attempt tries the other secret.
        """
        return self.confirmed != bool(attempts % 2)

    def learn_if_fetched(self, attempts: int, status: int | None, started_at: int) -> Taken | None:
        """Learn from the answer to a fetched delivery whether the receiver has the new secret.

        A delivery that was fetched before the rotation shows nothing. If the receiver had the
        former secret after all, the retries find that out one by one.
        """
        accepted = status is not None and 200 <= status < 300
        tried = self.new_first_if_fetched(attempts) and started_at >= self.changed_at
        return Taken(self.until, True) if accepted and tried and not self.confirmed else None

    def inherit_from(self, before: "SecretOverlap | None") -> "SecretOverlap":
        """Return the overlap from before the hook was read again, if it is the same.

        Requests in flight still refer to it.
        """
        if before is None or (before.until, before.secret) != (self.until, self.secret):
            return self
        before.confirmed = self.confirmed
        before.prefers_new = self.confirmed or before.prefers_new
        return before


def current_overlap(db: Connection, hook: Row) -> SecretOverlap | None:
    """Return the current overlap of a hook's secrets. Return None if there is none."""
    found = hook_secrets.previous_secret(db, hook)
    if found is None or hook["secret"] is None:
        return None
    secret, until = found
    confirmed = bool(hook["secret_taken"])
    return SecretOverlap(
        until,
        secret,
        Signer(secret),
        confirmed=confirmed,
        prefers_new=confirmed,
        changed_at=hook["updated_at"],
    )
