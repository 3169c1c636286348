"""Bodies of requests and responses, for people."""

import click

from hub.cli.console import output
from hub.http.json_excerpt import excerpt

# The maximum of characters of a body that a person sees. --json prints the whole body.
SHOWN = 2_000


def show_body(mark: str, text: str) -> None:
    """Print a body, each line behind `mark`."""
    for line in text.splitlines():
        click.echo(mark + output.printable(line, lines=True))


def pretty(body: bytes) -> str:
    """Return the beginning of a body: JSON with indents, and anything else unchanged."""
    text, is_cut = excerpt(body, SHOWN)
    return f"{text}\n... and more" if is_cut else text


def shortened(text: str) -> str:
    """Return the beginning of a text, and the number of the other characters."""
    left = len(text) - SHOWN
    return f"{text[:SHOWN]}\n... {left} characters more" if left > 0 else text
