"""Values that are encrypted with a public key, as clients send secrets."""

import base64

from nacl.public import PublicKey, SealedBox

from store import Row


def sealed(key: Row, value: bytes = b"hush") -> Row:
    """The body of the PUT request for a secret: the value, encrypted with the key."""
    box = SealedBox(PublicKey(base64.b64decode(key["key"])))
    encrypted = base64.b64encode(box.encrypt(value)).decode()
    return {"encrypted_value": encrypted, "key_id": key["key_id"]}
