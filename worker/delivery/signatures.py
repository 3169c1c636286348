"""The headers with a delivery's signatures, as its hook asks for them."""

from dataclasses import dataclass

from store.hooks.hook_options import SIGNATURES
from worker.delivery.secret_rotation import SecretOverlap
from worker.delivery.sign import AsymmetricSigner, Signer


@dataclass(slots=True)
class DeliverySignatures:
    """The signers of a hook's deliveries: its secret, a former secret for a while, and its keys."""

    signer: Signer | None = None
    overlap: SecretOverlap | None = None
    keys: tuple[AsymmetricSigner, ...] = ()
    wanted: tuple[str, ...] = SIGNATURES

    def headers(self, guid: str, body: bytes, timestamp: int, *, new_first: bool = False) -> str:
        """Return the header lines.

        `timestamp` is in seconds. If `new_first`, the newer of two secrets signs first.
        """
        lines, standard = [], []
        if self.signer is not None:
            former = self._former(timestamp)
            lines = self._platform(self.signer, former, body, new_first)
            if "v1" in self.wanted:
                both = (self.signer, former) if former else (self.signer,)
                standard = [one.standard(guid, timestamp, body) for one in both]
        if self.keys:
            standard += [
                key.standard(guid, timestamp, body) for key in self.keys if key.signs(timestamp)
            ]
        if standard:
            lines.append(f"webhook-signature: {' '.join(standard)}\r\n")
        return "".join(lines)

    def _former(self, timestamp: int) -> Signer | None:
        overlap = self.overlap
        return overlap.signer if overlap is not None and overlap.is_active(timestamp) else None

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
