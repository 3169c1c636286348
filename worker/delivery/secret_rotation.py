"""The time in which a hook's deliveries are signed with two secrets, its former and its new one.

A receiver has one or the other, and which one nobody tells: the headers that hold one signature
are by the former secret until they are refused, then by the new one. Once the receiver has taken
that, the new one comes first for good: the store keeps it, for all workers. The other signature
goes along, and `webhook-signature` has both, as its standard says.
"""

from dataclasses import dataclass, field

from store import Connection, Row
from store.clock import SECOND
from store.delivery import hook_secrets
from store.delivery.hook_secrets import Taken
from worker.delivery.sign import Signer

# What says nothing of the signature: too slow, gone, too large, too early, too many.
UNRELATED_STATUSES = (408, 410, 413, 425, 429)
# Deliveries remembered at most of those that a receiver refused after it had taken the new secret.
MOST_REFUSED = 1000


@dataclass(slots=True)
class SecretOverlap:
    """A former secret, good until a moment (microseconds)."""

    until: int
    secret: str
    signer: Signer
    taken: bool = False
    """The receiver has refused the former secret and taken the new one."""
    moved: bool = False
    """The former one was refused last: the new one is tried."""
    refused: set[int] = field(default_factory=set)
    """Deliveries that were refused by the new secret after it had been taken."""

    def __repr__(self) -> str:
        return f"Overlap(until={self.until})"

    def is_active(self, timestamp: int) -> bool:
        """Whether it is still good at a moment, in seconds."""
        return timestamp * SECOND < self.until

    def new_first(self, delivery_id: int) -> bool:
        """Whether the next attempt at this delivery is signed by the new secret first."""
        return delivery_id not in self.refused if self.taken else self.moved

    def signatures(
        self, new: Signer, guid: str, body: bytes, timestamp: int, *, new_first: bool
    ) -> str:
        """The headers with the signatures of both secrets."""
        pair = self.signer.hub(body), new.hub(body)
        first, other = pair[::-1] if new_first else pair
        standard = " ".join(each.standard(guid, timestamp, body) for each in (new, self.signer))
        return (
            f"X-Hub-Signature: {first[0]}\r\nX-Hub-Signature-256: {first[1]}\r\n"
            f"X-Hub-Signature-256-Alternate: {other[1]}\r\nwebhook-signature: {standard}\r\n"
        )

    def learn(self, delivery_id: int, new_first: bool, status: int | None) -> Taken | None:
        """Take in how an attempt was answered. Returns what is to be kept, where this shows it."""
        if status is None:
            return None
        accepted = 200 <= status < 300
        refused = 400 <= status < 500 and status not in UNRELATED_STATUSES
        if self.taken:
            return self._learn_of_one(delivery_id, new_first, accepted, refused)
        if accepted and new_first:
            return self._take(new=True)
        if refused and new_first == self.moved:
            self.moved = not new_first
        return None

    def _learn_of_one(
        self, delivery_id: int, new_first: bool, accepted: bool, refused: bool
    ) -> Taken | None:
        # What else a receiver refuses is no reason to begin anew for all deliveries: only the next
        # attempt at this one is by the former secret, and what comes of that decides.
        if refused and new_first:
            if len(self.refused) >= MOST_REFUSED:
                self.refused.clear()
            self.refused.add(delivery_id)
        elif accepted and not new_first and delivery_id in self.refused:
            return self._take(new=False)
        elif accepted or refused:
            self.refused.discard(delivery_id)
        return None

    def _take(self, *, new: bool) -> Taken:
        self.taken = self.moved = new
        self.refused.clear()
        return Taken(self.until, new)

    def inherit_from(self, before: "SecretOverlap | None") -> "SecretOverlap":
        """The one that was known before the hook was read again, if it is the same overlap: what is
        in flight still learns by that.
        """
        if before is None or (before.until, before.secret) != (self.until, self.secret):
            return self
        before.taken = self.taken
        before.moved = self.taken or before.moved
        return before


def current_overlap(db: Connection, hook: Row) -> SecretOverlap | None:
    """The overlap of a hook's secrets that lasts now."""
    found = hook_secrets.previous_secret(db, hook)
    if found is None or hook["secret"] is None:
        return None
    secret, until = found
    taken = bool(hook["secret_taken"])
    return SecretOverlap(until, secret, Signer(secret), taken=taken, moved=taken)
