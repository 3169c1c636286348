"""Asterisks in place of secrets that a receiver sends back."""

import json
import re
from collections.abc import Collection

from store.endpoint_access.secret_parts import MASK

_CODE = re.compile(r"\\u00([0-9a-fA-F]{2})")


def masked(text: str, secrets: Collection[str]) -> str:
    """Return the text without these secrets, also where JSON has escaped them."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    if "\\" in text:
        plain = _bare(text)
        for secret in secrets:
            # Most answers repeat no secret, and the search for all spellings costs more.
            if not secret.isascii() or _bare(json.dumps(secret)[1:-1]) in plain:
                text = re.sub("".join(map(_spellings, secret)), MASK, text)
    return text


def _bare(text: str) -> str:
    """Return the text without backslashes, with the characters for which there are codes."""
    return _CODE.sub(lambda code: chr(int(code[1], 16)), text).replace("\\", "")


def _spellings(character: str) -> str:
    """Return an expression for all spellings of a character in JSON."""
    units = character.encode("utf-16-be").hex()
    codes = "".join(f"\\\\u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4))
    short = "\\/" if character == "/" else json.dumps(character, ensure_ascii=False)[1:-1]
    return f"(?:{re.escape(character)}|{re.escape(short)}|{codes})"
