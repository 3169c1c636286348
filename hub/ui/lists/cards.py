"""The names of columns in the cells of tables, for screens on which each row is a card."""

import re
from html import escape, unescape

TABLE = re.compile(r"<thead>(.*?)</thead>(.*?)</table>", re.DOTALL)
HEAD = re.compile(r"<th\b([^>]*)>(.*?)</th>", re.DOTALL)
HIDDEN = re.compile(r'<span class="hidden">.*?</span>', re.DOTALL)
TAG = re.compile(r"<[^>]+>")
ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
CELL = re.compile(r"<(td|th)\b(?! class=\"select\")")


def label_tables(html: str) -> str:
    """Return a page in which the cells of each table have the names of their columns.

    The first cell of a row is its title and needs none.
    """
    return TABLE.sub(_labelled, html)


def _labelled(table: re.Match[str]) -> str:
    names = [_name(text) for about, text in HEAD.findall(table[1]) if "select" not in about]
    return f"<thead>{table[1]}</thead>{label_rows(table[2], names)}</table>"


def _name(head: str) -> str:
    return unescape(TAG.sub("", HIDDEN.sub("", head))).strip()


def label_rows(rows: str, names: list[str]) -> str:
    """Return rows whose cells have these names, but for the first cell of each."""

    def row(found: re.Match[str]) -> str:
        left = iter(["", *names[1:]])

        def cell(opened: re.Match[str]) -> str:
            name = next(left, "")
            return f'{opened[0]} data-label="{escape(name)}"' if name else opened[0]

        return CELL.sub(cell, found[0])

    return ROW.sub(row, rows)
