"""The time in which a hook's deliveries are signed with two secrets, its former and its new one.

A receiver has one or the other, and which one nobody tells: the headers that hold one signature
are by the former secret until they are refused, then by the new one. The other signature goes
along, and `webhook-signature` has both, as its standard says.
"""

from dataclasses import dataclass

from store import Connection, Row, hook_secrets
from store.clock import SECOND
from worker.sign import Signer

# What says nothing of the signature: too slow, gone, too large, too early, too many.
OTHER_REASONS = (408, 410, 413, 425, 429)


@dataclass(slots=True)
class Overlap:
    """A former secret, good until a moment (microseconds)."""

    until: int
    secret: str
    signer: Signer
    moved: bool = False
    """Whether the receiver has the new secret, as far as its answers tell."""

    def __repr__(self) -> str:
        return f"Overlap(until={self.until})"

    def lasts(self, timestamp: int) -> bool:
        """Whether it is still good at a moment, in seconds."""
        return timestamp * SECOND < self.until

    def signatures(self, new: Signer, guid: str, body: bytes, timestamp: int) -> str:
        """The headers with the signatures of both secrets."""
        pair = self.signer.hub(body), new.hub(body)
        first, other = pair[::-1] if self.moved else pair
        standard = " ".join(each.standard(guid, timestamp, body) for each in (new, self.signer))
        return (
            f"X-Hub-Signature: {first[0]}\r\nX-Hub-Signature-256: {first[1]}\r\n"
            f"X-Hub-Signature-256-Alternate: {other[1]}\r\nwebhook-signature: {standard}\r\n"
        )

    def learn(self, moved: bool, status: int | None) -> None:
        """Take in how what was sent with `moved` was answered."""
        refused = status is not None and 400 <= status < 500 and status not in OTHER_REASONS
        if refused and moved == self.moved:
            self.moved = not moved


def overlap_of(db: Connection, hook: Row) -> Overlap | None:
    """The overlap of a hook's secrets that lasts now."""
    found = hook_secrets.previous_of(db, hook)
    if found is None or hook["secret"] is None:
        return None
    secret, until = found
    return Overlap(until, secret, Signer(secret))
