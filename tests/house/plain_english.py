"""Turns of phrase that have to be read twice: neither the manual nor the code uses them."""

import re

BANNED = (
    r"\bthat of\b",
    r"\bthose of\b",
    r"\b(is|are|was|were|be|been) told\b",
    r"\btold of\b",
    r"\blet(s|ting)? go of\b",
    r"\bnobody wanted\b",
    r"\b(turn|turns|turned) away\b",
    r"\bresting\b",
    r"\bis taken in\b",
    r"^(What|Of)\b",
    r"^Who(ever)? .* is\b",
    r"\b[Ww]hoever\b",
    r"\b[Nn]obody's\b",
    r"\bthat (is|are) none\b",
    r"\bwhat is no\b",
    r"\bof nothing\b",
)
LONGEST = 40
# Most texts have no banned turn, and one search for all turns is quicker than one for each.
ANY_BANNED = re.compile("|".join(BANNED))


def found_in(sentence: str) -> list[str]:
    if ANY_BANNED.search(sentence) is None:
        return []
    return [turn for turn in BANNED if re.search(turn, sentence)]


def split(text: str) -> list[str]:
    """The sentences of a paragraph. They end with a mark and a space, or with the paragraph."""
    pieces = re.split(r"(?<=[.?!])[)\"”]?\s+(?=[^a-z])", text.strip())
    return [piece for piece in pieces if re.search(r"\w", piece)]


def words(sentence: str) -> int:
    """How many words a sentence has."""
    return len([word for word in sentence.split() if re.search(r"\w", word)])


def is_long(sentence: str) -> bool:
    # Few sentences have so many pieces that their words have to be counted.
    return sentence.count(" ") + sentence.count("\n") >= LONGEST and words(sentence) > LONGEST


def hard_to_read(text: str) -> list[str]:
    """The sentences of a paragraph that are too long, or have a banned turn."""
    return [one for one in split(text) if found_in(one) or is_long(one)]
