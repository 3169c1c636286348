"""Tables that fit the terminal: long values are shortened, and numbers and times never.

The whole values are in the output for programs, and in the output of `show`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.cli.console import times
from hub.cli.console.plain_text import plain
from hub.cli.console.times import Time

if TYPE_CHECKING:
    from rich.table import Table

GAP = 2
# The fewest characters to which a value is shortened.
LEAST = 8
GUID = 8
URLS = {"url", "callback", "topic"}
NAMES = URLS | {"target", "repository"}
"""Columns that say which thing a row is about. Others are narrowed to two thirds of their width."""
# With fewer characters than this for a URL, columns that can be spared are left out.
LEAST_URL = 20
ELLIPSIS = "…"


def fitting(rows: Sequence[Mapping[str, Any]], width: int, spare: Sequence[str] = ()) -> "Table":
    """Return a table of rows with the same keys, in at most `width` columns if that is possible.

    Columns without any value are left out, and those in `spare` if a URL has too little room.
    """
    from rich.table import Table
    from rich.text import Text

    names = [name for name in rows[0] if any(row[name] not in (None, {}, []) for row in rows)]
    cells = {name: [text_of(name, row[name]) for row in rows] for name in names}
    rigid = {name for name in names if all(_is_rigid(row[name]) for row in rows)}
    for name in spare:
        if _is_tight(cells, widths(cells, rigid, width)) and cells.pop(name, None) is not None:
            names.remove(name)
    room = widths(cells, rigid, width)
    made = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for name in names:
        number = all(_is_number(row[name]) for row in rows)
        made.add_column(heading(name), justify="right" if number else "left", no_wrap=True)
    for at, row in enumerate(rows):
        shown = (shortened(name, cells[name][at], room[name]) for name in names)
        made.add_row(
            *(
                Text(text, style="dim" if row[name] is None else "")
                for name, text in zip(names, shown, strict=True)
            )
        )
    return made


def heading(name: str) -> str:
    return name.removesuffix("_at").replace("_", " ")


def text_of(name: str, value: Any) -> str:
    """Return a value as a table shows it if there is room for it."""
    if isinstance(value, Time):
        return times.short(value)
    text = plain(value)
    if name == "guid" and len(text) > GUID + 1:
        return text[:GUID] + ELLIPSIS
    return text.removeprefix("https://") if name in URLS else text


def _is_rigid(value: Any) -> bool:
    return value is None or isinstance(value, int | float)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool | Time))


def widths(cells: Mapping[str, Sequence[str]], rigid: set[str], width: int) -> dict[str, int]:
    """Return the width of each column. The widest is narrowed first, and `rigid` ones never.

    A column of NAMES counts as narrower than it is.
    """
    found = {
        name: max(len(heading(name)), *(len(text) for text in texts))
        for name, texts in cells.items()
    }
    while sum(found.values()) + GAP * (len(found) - 1) > width:
        flexible = [name for name in found if name not in rigid and found[name] > least(name)]
        if not flexible:
            break
        widest = max(flexible, key=lambda name: found[name] * (2 if name in NAMES else 3))
        found[widest] -= 1
    return found


def _is_tight(cells: Mapping[str, Sequence[str]], room: Mapping[str, int]) -> bool:
    """Return whether a URL is shortened to fewer than LEAST_URL characters."""
    return any(
        room[name] < min(LEAST_URL, max(map(len, cells[name]))) for name in URLS & cells.keys()
    )


def least(name: str) -> int:
    """Return the width below which a column is not narrowed."""
    return max(LEAST, len(heading(name)))


def shortened(name: str, text: str, room: int) -> str:
    """Return the text in at most `room` characters. A URL keeps its beginning and its end."""
    if len(text) <= room:
        return text
    if name in URLS:
        end = (room - 1) // 3
        return text[: room - 1 - end] + ELLIPSIS + text[len(text) - end :]
    return text[: room - 1] + ELLIPSIS
