"""The links between the pages of a list."""

from urllib.parse import urlencode

from hub.ui.view_context import ViewContext


def query(chosen: dict[str, str]) -> str:
    return urlencode({name: value for name, value in chosen.items() if value})


def first(path: str, chosen: dict[str, str]) -> str:
    """Return the URL of a list's first page."""
    asked = query(chosen)
    return f"{path}?{asked}" if asked else path


def older(path: str, chosen: dict[str, str], before: int | None) -> str:
    """Return the URL of the next page; empty if there is none."""
    return "" if before is None else f"{path}?{query({**chosen, 'before': str(before)})}"


def skipped(ctx: ViewContext) -> int:
    """Return how many entries of a sorted list are on earlier pages."""
    return ctx.asked_number("skip") or 0


def following(path: str, chosen: dict[str, str], skip: int, *, more: bool) -> str:
    """Return the URL of the page that begins after `skip` entries; empty if nothing follows."""
    return f"{path}?{query({**chosen, 'skip': str(skip)})}" if more else ""
