"""The names of columns in the cells of tables, for screens on which each row is a card."""

import re
from html import escape, unescape
from itertools import chain, repeat
from operator import add

HEAD = re.compile(r"<th\b([^>]*)>(.*?)</th>", re.DOTALL)
HIDDEN = re.compile(r'<span class="hidden">.*?</span>', re.DOTALL)
TAG = re.compile(r"<[^>]+>")
CELL = re.compile(r"(<t[dh]\b(?! class=\"select\"))")


def label_tables(html: str) -> str:
    """Return a page in which the cells of each table have the names of their columns.

    The first cell of a row is its title and needs none.
    """
    before, *tables = html.split("<thead>")
    return "".join([before, *map(_labelled, tables)])


def _labelled(piece: str) -> str:
    """Return a table from the columns' names on, and what follows it."""
    head, end, rest = piece.partition("</thead>")
    rows, last, after = rest.partition("</table>")
    names = [_name(text) for about, text in HEAD.findall(head) if "select" not in about]
    return f"<thead>{head}{end}{label_rows(rows, names)}{last}{after}"


def _name(head: str) -> str:
    return unescape(TAG.sub("", HIDDEN.sub("", head))).strip()


def label_rows(rows: str, names: list[str]) -> str:
    """Return rows whose cells have these names, but for the first cell of each."""
    labels = ["", *(f' data-label="{escape(name)}"' if name else "" for name in names[1:])]
    return "<tr".join(_label_row(row, labels) for row in rows.split("<tr"))


def _label_row(row: str, labels: list[str]) -> str:
    # Text and openings of cells alternate, which is twice as fast as a call for each cell.
    pieces = CELL.split(row)
    pieces[1::2] = map(add, pieces[1::2], chain(labels, repeat("")))
    return "".join(pieces)
