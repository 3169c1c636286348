"""Signed cursors, so that the hub accepts only cursors that it issued."""

import base64
import re
from dataclasses import dataclass

from store.crypto.vault import Vault

PURPOSE = "cursor"
SHAPE = re.compile(r"([A-Za-z0-9_-]*)\.([0-9a-f]{64})")
INVALID = "Invalid cursor: take it from the Link header of a response"


@dataclass(frozen=True, slots=True)
class Cursors:
    """The cursors of one list.

    `list_id` is an operationId; a cursor is valid for its own list only.
    """

    vault: Vault
    list_id: str

    def cursor(self, place: bytes) -> str:
        text = base64.urlsafe_b64encode(place).decode().rstrip("=")
        return f"{text}.{self.vault.sign(PURPOSE, self._message(text))}"

    def place(self, cursor: str) -> bytes | None:
        """Return the position in a cursor, or None if the cursor was not issued here."""
        found = SHAPE.fullmatch(cursor)
        if found is None or not self.vault.signed(PURPOSE, self._message(found[1]), found[2]):
            return None
        return base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4))

    def _message(self, text: str) -> str:
        return f"{self.list_id} {text}"
