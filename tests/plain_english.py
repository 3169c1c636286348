"""Turns of phrase that have to be read twice: neither the manual nor the code uses them."""

import re

BANNED = (
    r"\bthat of\b",
    r"\bthose of\b",
    r"\b(is|are|was|were|be|been) told\b",
    r"\btold of\b",
    r"\blet(s|ting)? go of\b",
    r"\bnobody wanted\b",
    r"\bturned away\b",
    r"^(What|Of)\b",
    r"^Who(ever)? .* is\b",
)


def found_in(sentence: str) -> list[str]:
    return [turn for turn in BANNED if re.search(turn, sentence)]
