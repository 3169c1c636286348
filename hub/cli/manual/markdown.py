"""Markdown helpers for the generated pages."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table without its empty columns. A `|` within a cell is escaped."""
    body = list(rows)
    used = [at for at in range(len(head)) if any(row[at] for row in body)]
    lines = [[row[at] for at in used] for row in (head, ["---"] * len(head), *body)]
    return "\n".join(f"| {' | '.join(_cell(one) for one in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("\\|", "|").replace("|", "\\|")


def code(text: object) -> str:
    """Return text as inline code, or "" for ""."""
    return f"`{text}`" if text != "" else ""


def fence(text: str, language: str) -> str:
    """Return a code block."""
    return f"```{language}\n{text.rstrip()}\n```"


def sentence(text: str) -> str:
    """Return text with a capital letter at its beginning and a full stop at its end."""
    text = " ".join(text.split())
    begins = text[:1].upper() + text[1:]
    return begins if not begins or begins[-1] in ".!?:" else f"{begins}."


def page(*parts: str) -> str:
    """Return a page of these parts, without the empty ones."""
    return "\n\n".join(part for part in parts if part) + "\n"
