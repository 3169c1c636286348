"""What the generated pages have in common."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, without columns that are empty. A bar within a cell does not end it."""
    body = list(rows)
    used = [at for at in range(len(head)) if any(row[at] for row in body)]
    lines = [[row[at] for at in used] for row in (head, ["---"] * len(head), *body)]
    return "\n".join(f"| {' | '.join(_cell(one) for one in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("\\|", "|").replace("|", "\\|")


def code(text: object) -> str:
    """Text as code; nothing for nothing."""
    return f"`{text}`" if text != "" else ""


def fence(text: str, language: str = "") -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def sentence(text: str) -> str:
    """A text as a sentence: with a capital at its beginning and a full stop at its end."""
    text = " ".join(text.split())
    begins = text[:1].upper() + text[1:]
    return begins if not begins or begins[-1] in ".!?:" else f"{begins}."


def page(*parts: str) -> str:
    """A page of these parts."""
    return "\n\n".join(part for part in parts if part) + "\n"
