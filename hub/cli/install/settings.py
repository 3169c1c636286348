"""`tocsin settings`: the settings in effect and the source of each."""

from collections.abc import Sequence
from typing import Any

import click

from hub.cli.console import options, output
from hub.cli.console.grammar import command
from hub.cli.service.configuration import Configuration
from hub.cli.service.setting_list import all_settings
from store import Row
from store.settings import redact_url

# The widest table that can be read at a glance.
WIDEST = 100


@command(examples=["tocsin settings", "tocsin settings --changed"])
@click.option("--changed", is_flag=True, help="Only settings that do not have their defaults.")
@options.as_json
@options.configured
def settings(configuration: Configuration, changed: bool, as_json: bool) -> None:
    """List the settings in effect and the source of each."""
    rows = [row for row in _rows(configuration) if not changed or row["from"] != "default"]
    if rows and not as_json and output.is_terminal():
        _print_folded(rows)
        return
    output.print_rows(rows, as_json=as_json, empty="every setting has its default")


def _rows(configuration: Configuration) -> list[Row]:
    values = configuration.settings.model_dump(mode="json")
    values["store"] = redact_url(values["store"])
    return [
        {
            "setting": setting.name,
            "value": values[setting.name],
            "from": configuration.origins.get(setting.name, "default"),
        }
        for setting in all_settings()
    ]


def _print_folded(rows: Sequence[dict[str, Any]]) -> None:
    """Print the settings in at most WIDEST columns. A long value goes on in the next line."""
    from rich.table import Table
    from rich.text import Text

    console = output.console()
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in rows[0]:
        made.add_column(name, no_wrap=name == "setting", overflow="fold")
    for row in rows:
        style = "dim" if row["from"] == "default" else ""
        made.add_row(*(Text(output.plain(value), style=style) for value in row.values()))
    console.print(made, width=min(WIDEST, console.width))
