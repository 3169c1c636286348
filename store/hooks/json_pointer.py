"""JSON Pointers (RFC 6901): paths such as `/pull_request/id` into a payload."""

import re
from typing import Any

LONGEST = 512
# RFC 6901 allows no leading zeros.
INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_MISSING = object()


def check(pointer: str) -> str:
    """Return a JSON Pointer to a member. Raises ValueError if it is none."""
    if not pointer.startswith("/"):
        raise ValueError("a JSON Pointer begins with /, as /pull_request/id does")
    if len(pointer) > LONGEST:
        raise ValueError(f"a JSON Pointer has {LONGEST} characters at most")
    if "~" in pointer.replace("~0", "").replace("~1", ""):
        raise ValueError("in a JSON Pointer, ~ is written ~0, and / in a name is written ~1")
    if "\0" in pointer:
        raise ValueError("a JSON Pointer must not hold a NUL")
    return pointer


def resolve(document: Any, pointer: str) -> Any:
    """Return the value to which a checked pointer leads. Return None if there is none."""
    for part in pointer[1:].split("/"):
        document = _member(document, part.replace("~1", "/").replace("~0", "~"))
        if document is _MISSING:
            return None
    return document


def _member(document: Any, name: str) -> Any:
    if isinstance(document, dict):
        return document.get(name, _MISSING)
    if isinstance(document, list) and INDEX.fullmatch(name) and int(name) < len(document):
        return document[int(name)]
    return _MISSING
