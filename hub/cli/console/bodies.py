"""Bodies of requests and responses, for people."""

import click
import orjson

from hub.cli.console import output

# The maximum of characters of a body that a person sees. --json prints the whole body.
SHOWN = 2_000


def show_body(mark: str, text: str, *, whole: bool = False) -> None:
    """Print a body, each line behind `mark`. If not `whole`, print its first SHOWN characters."""
    for line in (text if whole else shortened(text)).splitlines():
        click.echo(mark + output.printable(line, lines=True))


def pretty(body: bytes) -> str:
    """Return a body for people: JSON with indents, and anything else unchanged."""
    try:
        return orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONDecodeError:
        return body.decode(errors="replace")


def shortened(text: str, most: int = SHOWN) -> str:
    """Return the first `most` characters of a text, and the number of the others."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n... {len(text) - most} characters more"
