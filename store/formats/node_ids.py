"""Node ids: the opaque form of an id, which says what it is the id of."""

import base64


def node_id(kind: str, number: int | str) -> str:
    """Return the opaque form of an id."""
    return base64.b64encode(f"0{len(kind)}:{kind}{number}".encode()).decode()
