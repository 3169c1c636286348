"""JSON that is written anew, with every whole number as it came.

The fast library reads a whole number of more than 64 bits as an approximate one.
"""

import json
from collections.abc import Callable
from typing import Any

from store import json_bytes

# No whole number with fewer digits needs more than 64 bits.
_LONG = b"0" * 19
_ZEROS = bytes(0x30 if 0x30 <= byte <= 0x39 else byte for byte in range(256))


def rewritten(text: bytes, parsed: Any, change: Callable[[Any], Any]) -> bytes:
    """Return `change(parsed)` as JSON. `parsed` is the text as `orjson` has parsed it.

    Raises orjson.JSONEncodeError if it is nested too deeply.
    """
    written = json_bytes.dumps(change(parsed))
    # An approximate number has an exponent. Most payloads have no plus sign, and it is found fast.
    if b"+" not in written or _LONG not in text.translate(_ZEROS):
        return written
    exact = change(json.loads(text))
    return json.dumps(exact, ensure_ascii=False, separators=(",", ":")).encode()
