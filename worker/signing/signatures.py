"""The headers with a delivery's signatures, as its hook asks for them."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from worker.signing.sign import AsymmetricSigner, Signer

if TYPE_CHECKING:
    # A sender process needs neither this module nor the store, which the module imports.
    from worker.signing.secret_rotation import SecretOverlap

UNSIGNED = "\0signatures\0"
"""The place for the signatures in a head that is not signed yet. No header has a NUL."""
MOST_SIGNERS = 1024

SigningMaterial = tuple[str | None, tuple[tuple[bytes, int | None], ...], tuple[str, ...]]
"""A secret, the seeds of keys with the times (microseconds) until which they sign, and the names of
the wanted signatures.
"""
SigningRequest = tuple[SigningMaterial, str, int]
"""The material for signatures, a delivery's guid, and the time of signing (seconds)."""


@dataclass(slots=True)
class DeliverySignatures:
    """The signers of a hook's deliveries: its secret, a former secret for a while, and its keys."""

    signer: Signer | None = None
    overlap: "SecretOverlap | None" = None
    keys: tuple[AsymmetricSigner, ...] = ()
    wanted: tuple[str, ...] = ()
    material: SigningMaterial | None = field(default=None, repr=False)
    """The material from which another process makes the same signers, or None."""

    def headers(self, guid: str, body: bytes, timestamp: int, *, new_first: bool = False) -> str:
        """Return the header lines.

        `timestamp` is in seconds. If `new_first`, the newer of two secrets signs first.
        """
        lines: list[str] = []
        standard: list[str] = []
        if self.signer is not None:
            overlap = self.overlap_at(timestamp)
            former = None if overlap is None else overlap.signer
            lines = self._platform(self.signer, former, body, new_first)
            if "v1" in self.wanted:
                standard.append(self.signer.standard(guid, timestamp, body))
                if former is not None:
                    standard.append(former.standard(guid, timestamp, body))
        if self.keys:
            standard += [
                key.standard(guid, timestamp, body) for key in self.keys if key.signs(timestamp)
            ]
        if standard:
            lines.append(f"webhook-signature: {' '.join(standard)}\r\n")
        return "".join(lines)

    def overlap_at(self, timestamp: int) -> "SecretOverlap | None":
        """Return the overlap in which two secrets sign at this time (seconds), or None."""
        overlap = self.overlap
        return overlap if overlap is not None and overlap.is_active(timestamp) else None

    def _platform(
        self, signer: Signer, former: Signer | None, body: bytes, new_first: bool
    ) -> list[str]:
        first, other = (former or signer), (signer if former else None)
        if new_first and former:
            first, other = signer, former
        lines = []
        if "sha1" in self.wanted:
            lines.append(f"X-Hub-Signature: {first.sha1(body)}\r\n")
        if "sha256" in self.wanted:
            lines.append(f"X-Hub-Signature-256: {first.sha256(body)}\r\n")
            if other is not None:
                lines.append(f"X-Hub-Signature-256-Alternate: {other.sha256(body)}\r\n")
        return lines


def signatures_from(material: SigningMaterial) -> DeliverySignatures:
    secret, seeds, wanted = material
    return DeliverySignatures(
        signer=None if secret is None else Signer(secret),
        keys=tuple(AsymmetricSigner(seed, until) for seed, until in seeds),
        wanted=wanted,
        material=material,
    )


_signers = lru_cache(maxsize=MOST_SIGNERS)(signatures_from)


def sign(head: str, signing: SigningRequest, body: bytes) -> tuple[str, str]:
    """Return the signed head of a request, and the header lines that were added."""
    material, guid, timestamp = signing
    lines = _signers(material).headers(guid, body, timestamp)
    return head.replace(UNSIGNED, lines, 1), lines
