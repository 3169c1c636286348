"""Asterisks in place of secrets that a receiver sends back."""

import json
from collections.abc import Collection, Iterator

from store.endpoint_access.secret_parts import MASK

# Some programs escape these characters in JSON, such as all programs in Go.
_FOR_HTML = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def masked(text: str, secrets: Collection[str]) -> str:
    """Return the text without these secrets, also where JSON has escaped them."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    if "\\" in text:
        for secret in secrets:
            for escaped in _escaped(secret):
                text = text.replace(escaped, MASK)
    return text


def _escaped(secret: str) -> Iterator[str]:
    for ascii_only in (False, True):
        inner = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield inner
        yield inner.replace("/", "\\/")
        yield inner.translate(_FOR_HTML)
