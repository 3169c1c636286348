"""Asterisks in place of secrets that a receiver sends back."""

import json
import re
from collections.abc import Collection

from store.endpoint_access.secret_parts import MASK

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""The character in place of one that cannot be decoded, and of NUL, which PostgreSQL refuses."""

SHORTEST = 8
"""A shorter secret may be a part of any text, so it is only masked where it stands alone."""

# Letters and digits do not end a word. But one may be the end of an escaped character: in JSON, in
# a URL, and in a text of Python or C.
_ESCAPED = (r"\\[bfnrt]", r"\\u[0-9a-fA-F]{4}", r"\\x[0-9a-fA-F]{2}", r"%[0-9a-fA-F]{2}")
_BEGIN = f"(?:(?<![^\\W_])|{'|'.join(f'(?<={one})' for one in _ESCAPED)})"
_END = r"(?![^\W_])"
# Fewer characters may be the end of any text.
_BEGINNING = 4
_CODE = re.compile(r"\\u00([0-9a-fA-F]{2})")


def masked(text: str, secrets: Collection[str]) -> str:
    """Return the text without these secrets, also where JSON has escaped them."""
    # A secret may be a part of a longer one, the rest of which would be left.
    longest_first = sorted(secrets, key=len, reverse=True)
    for secret in longest_first:
        if len(secret) >= SHORTEST:
            text = text.replace(secret, MASK)
        elif secret in text:
            text = re.sub(_alone(secret, re.escape(secret)), MASK, text)
    if "\\" in text:
        plain = _bare(text)
        for secret in longest_first:
            # Most answers repeat no secret, and the search for all spellings costs more.
            if not secret.isascii() or _bare(json.dumps(secret)[1:-1]) in plain:
                text = re.sub(_alone(secret, "".join(map(_spellings, secret))), MASK, text)
    return text


def masked_end(text: str, secrets: Collection[str]) -> str:
    """Return a text that was cut, without the beginning of one of these secrets at its end."""
    # The last character may have been cut, too.
    whole = text.rstrip(REPLACEMENT)
    spelled = {*secrets, *(json.dumps(secret)[1:-1] for secret in secrets)}
    length = max((_common(whole, secret) for secret in spelled), default=0)
    return whole[:-length] + MASK if length else text


def _common(text: str, secret: str) -> int:
    """Return how many characters of a secret stand at the end of a text. Few count as none."""
    most = min(len(text), len(secret) - 1)
    lengths = range(most, _BEGINNING - 1, -1)
    return next((length for length in lengths if text.endswith(secret[:length])), 0)


def _alone(secret: str, spelled: str) -> str:
    """Return an expression for a secret, and for a short one only if no word goes on there."""
    if len(secret) >= SHORTEST:
        return spelled
    # Asterisks may stand for another secret. Around a word, they are only marks, as in Markdown.
    word = f"(?:{spelled})" if secret.strip("*") else rf"(?<!\*){spelled}(?!\*)"
    return f"{_BEGIN}{word}{_END}"


def _bare(text: str) -> str:
    """Return the text without backslashes, with the characters for which there are codes."""
    return _CODE.sub(lambda code: chr(int(code[1], 16)), text).replace("\\", "")


def _spellings(character: str) -> str:
    """Return an expression for all spellings of a character in JSON."""
    units = character.encode("utf-16-be").hex()
    codes = "".join(f"\\\\u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4))
    short = "\\/" if character == "/" else json.dumps(character, ensure_ascii=False)[1:-1]
    return f"(?:{re.escape(character)}|{re.escape(short)}|{codes})"
