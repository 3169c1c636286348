"""The command line: `tocsin COMMAND`. Each command is a module, imported when it is used.

Imports `worker_events` and what is below it, and the worker.
"""

import atexit
import gc
import sys
from typing import TYPE_CHECKING, Any

import click

from hub import __version__
from hub.cli.commands import COMMANDS, EXAMPLES, FORMER, SECTIONS, SHORT, current
from hub.cli.console import exits, streams
from hub.cli.console.late_imports import command_named
from store.errors import StoreError, from_os_error

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["COMMANDS", "main"]


class Commands(click.Group):
    """A group that imports a command when it is used, and reports a command's error in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = FORMER.get(cmd_name, (cmd_name,))[0]
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = command_named(COMMANDS[cmd_name])
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for arg in args:
            if streams.undecoded(arg) and not ctx.resilient_parsing:
                raise click.UsageError(f"{arg!r} is not UTF-8", ctx)
        return super().parse_args(ctx, current(args))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, text) for name, (_, text) in commands.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for one in EXAMPLES:
                formatter.write(f"  {one}\n")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem[str]]":
        from click.shell_completion import CompletionItem

        named = [name for name in COMMANDS if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=SHORT[name]) for name in named), *options]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        named = args[0]
        if named not in COMMANDS and not named.startswith("-") and not ctx.resilient_parsing:
            # Only errors need it.
            from hub.cli.console.similar_names import no_such

            raise click.UsageError(no_such(named, COMMANDS, "tocsin"), ctx)
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **extra: Any) -> Any:
        streams.prepare()
        if not args and "args" not in extra:
            # The process ends after this call. The freeze spares it the last garbage collection.
            atexit.register(gc.freeze)
        try:
            return super().main(*args, **extra)
        except OSError as error:
            if not streams.is_unwritable(error):
                raise
            sys.exit(_ended(from_os_error("cannot write the output", error)).exit_code)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            # The library only declares it final. Subclasses make more of it when they are shown.
            error.message = _printable(error.message)  # type: ignore[misc]
            raise
        except StoreError as error:
            raise _ended(error) from None
        except OSError as error:
            # Without a file's name, the error is about a pipe, or it is a bug of this program.
            if error.filename is None:
                raise
            raise _ended(from_os_error(f"cannot use {error.filename}", error)) from None


def _ended(error: StoreError) -> click.exceptions.Exit:
    click.ClickException(_printable(str(error))).show()
    return click.exceptions.Exit(exits.code_of(error))


def _printable(message: str) -> str:
    """Return the message of an error, which may hold text of another program, for a terminal."""
    # Only failures need this module.
    from hub.cli.console.plain_text import printable

    return printable(message, lines=True)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tocsin")
def main() -> None:
    """Run a webhook hub: accept events and deliver them, signed, to their subscribers."""
