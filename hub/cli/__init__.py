"""The command line: `tocsin COMMAND`. Each command is a module, imported when it is used."""

import gc
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Any

import click

from hub.cli.console import exits
from store.errors import StoreError

# Command to the module that has it and what it is called there, in the order of the help.
COMMANDS = {
    "demo": "playground.demo:demo",
    "serve": "install.serve:serve",
    "listen": "playground.listen:listen",
    "user": "accounts.user:user",
    "org": "accounts.org:org",
    "repo": "accounts.repo:repo",
    "app": "accounts.app:app",
    "token": "accounts.token:token",
    "source": "accounts.source:source",
    "load": "state.load:load",
    "hooks": "traffic.hooks:hooks",
    "websub": "traffic.websub:websub",
    "events": "traffic.events:events",
    "refusals": "traffic.refusals:refusals",
    "deliveries": "traffic.deliveries:deliveries",
    "delivery": "traffic.deliveries:delivery",
    "redeliver": "traffic.redeliver:redeliver",
    "replay": "traffic.replay:replay",
    "republish": "traffic.republish:republish",
    "status": "operate.status:status",
    "top": "operate.top:top",
    "jobs": "operate.jobs:jobs",
    "audit": "operate.audit:audit",
    "doctor": "operate.doctor:doctor",
    "backup": "operate.backup:backup",
    "restore": "operate.restore:restore",
    "key": "operate.key:key",
    "migrate": "operate.migrate:migrate",
    "sql": "operate.sql:sql",
    "settings": "install.settings:settings",
    "systemd": "install.systemd:systemd",
    "completion": "install.completion:completion",
}


def _imported(module: str) -> ModuleType:
    """A module, imported without looking for garbage: it makes none, and that took a tenth of the
    time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        if collecting:
            gc.enable()


class Commands(click.Group):
    """Imports a command when it is asked for, and makes one line of what went wrong in it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(_imported(f"hub.cli.{module}"), name)
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
