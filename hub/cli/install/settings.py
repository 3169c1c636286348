"""`tocsin settings`: the settings in effect and the source of each."""

import click

from hub.cli.console import options, output
from hub.cli.service.configuration import Configuration, all_settings
from store.settings import redact_url


@click.command()
@options.as_json
@options.configured
def settings(configuration: Configuration, as_json: bool) -> None:
    """List the settings in effect and the source of each."""
    values = configuration.settings.model_dump(mode="json")
    values["store"] = redact_url(values["store"])
    rows = [
        {
            "setting": setting.name,
            "value": values[setting.name],
            "from": configuration.origins.get(setting.name, "default"),
        }
        for setting in all_settings()
    ]
    output.print_rows(rows, as_json=as_json, empty="no settings")
