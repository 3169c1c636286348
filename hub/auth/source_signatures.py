"""Signatures of event sources, and their verification."""

import hmac
import re
from collections.abc import Mapping

from hub.http.errors import Unauthenticated
from store import Connection, Row, Store
from store.delivery import sources

SIGNATURE = re.compile(r"sha256=([0-9a-fA-F]{64})")
BARE = re.compile(r"([0-9a-fA-F]{64})")
# Signature headers and their forms. The first header present counts.
HEADERS = (
    (b"x-hub-signature-256", SIGNATURE),
    (b"x-forgejo-signature", BARE),
    (b"x-gitea-signature", BARE),
    (b"x-gogs-signature", BARE),
)
MAX_CACHED = 256
SourceSecret = tuple[Row, bytes]


def signature_of(headers: Mapping[bytes, bytes]) -> bytes:
    """Return the SHA-256 signature in the headers.

    Raises Unauthenticated without one, or for one in another form.
    """
    for name, form in HEADERS:
        given = headers.get(name)
        if given is not None:
            matched = form.fullmatch(given.decode("latin-1"))
            if matched is None:
                raise Unauthenticated(f"{name.decode()} is not a SHA-256 signature")
            return bytes.fromhex(matched[1])
    raise Unauthenticated(
        "Requires authentication: X-Hub-Signature-256, made with a source's secret"
    )


class SourceVerifier:
    """Finds the source that signed a body."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # Decrypting a secret costs more than checking a signature with it.
        self._opened: dict[bytes, bytes] = {}

    async def candidates(self, name: str | None) -> list[SourceSecret]:
        """Return every source, or the one with this name, with its secret.

        Raises Unauthenticated if there is none.
        """
        found = await self._store.read(self._read, name)
        if not found:
            raise Unauthenticated("There is no source to check the signature against")
        return found

    def _read(self, db: Connection, name: str | None) -> list[SourceSecret]:
        rows = [row for row in sources.secrets(db) if name is None or row["name"] == name]
        return [(row, self._open(db, row["secret"])) for row in rows]

    def _open(self, db: Connection, sealed: bytes) -> bytes:
        secret = self._opened.get(sealed)
        if secret is None:
            if len(self._opened) >= MAX_CACHED:
                self._opened.clear()
            secret = self._opened[sealed] = db.vault.open(sealed).encode()
        return secret


def speaks_for(source: Row, owner: str) -> bool:
    """Return whether a source may send events for this account's repositories.

    Only the name decides, so that the result does not reveal whether a repository exists.
    """
    return source["owner_id"] is None or owner.lower() == source["owner"].lower()


def find_signer(candidates: list[SourceSecret], body: bytes, signature: bytes) -> Row:
    """Return the source whose secret signed the body. Raises Unauthenticated if none did."""
    for row, secret in candidates:
        if hmac.compare_digest(hmac.digest(secret, body, "sha256"), signature):
            return row
    raise Unauthenticated("The signature does not match")
