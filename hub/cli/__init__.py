"""The command line: `tocsin COMMAND`. Each command is a module, imported when it is used."""

from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from typing import Any

import click

from hub.cli import exits
from store.errors import StoreError

# Command to the module that has it and what it is called there, in the order of the help.
COMMANDS = {
    "demo": "demo:demo",
    "serve": "serve:serve",
    "listen": "listen:listen",
    "user": "user:user",
    "org": "org:org",
    "repo": "repo:repo",
    "app": "app:app",
    "token": "token:token",
    "source": "source:source",
    "load": "load:load",
    "hooks": "hooks:hooks",
    "websub": "websub:websub",
    "events": "events:events",
    "refusals": "refusals:refusals",
    "deliveries": "deliveries:deliveries",
    "delivery": "deliveries:delivery",
    "redeliver": "redeliver:redeliver",
    "replay": "replay:replay",
    "republish": "republish:republish",
    "status": "status:status",
    "top": "top:top",
    "jobs": "jobs:jobs",
    "audit": "audit:audit",
    "doctor": "doctor:doctor",
    "backup": "backup:backup",
    "restore": "restore:restore",
    "key": "key:key",
    "migrate": "migrate:migrate",
    "sql": "sql:sql",
    "settings": "settings:settings",
    "systemd": "systemd:systemd",
    "completion": "completion:completion",
}


class Commands(click.Group):
    """Imports a command when it is asked for, and makes one line of what went wrong in it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"hub.cli.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        named = args[0]
        if named not in COMMANDS and not named.startswith("-") and not ctx.resilient_parsing:
            close = " or ".join(map(repr, get_close_matches(named, COMMANDS)))
            meant = f"Did you mean {close}?" if close else "`tocsin --help` lists them."
            raise click.UsageError(f"No such command {named!r}. {meant}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except StoreError as error:
            click.ClickException(str(error)).show()
            raise click.exceptions.Exit(exits.code_of(error)) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("tocsin"), prog_name="tocsin")
def main() -> None:
    """A webhook hub: takes in what happens in repositories, delivers it signed to who asked."""
