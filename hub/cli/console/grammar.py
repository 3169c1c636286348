"""The grammar of the command line: a noun, and what to do with it, such as `tocsin hook list`.

The verbs mean the same for every noun: `list`, `show`, `add`, `edit`, `remove`. A noun alone lists.
Words of former versions still work, and no help names them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from hub.cli.console.exclusions import Exclusion
from hub.cli.console.late_imports import command_named

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VERBS = ("list", "show", "add", "edit", "remove")
"""The verbs of all nouns, in the order of the help."""
HELP = {"-h", "--help"}


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """Write the section of examples at the end of a help text. Its lines are not wrapped."""
    if examples:
        with formatter.section("Examples" if len(examples) > 1 else "Example"):
            for one in examples:
                formatter.write(f"{'':{formatter.current_indent}}{one}\n")


class Command(click.Command):
    """A command with examples at the end of its help, and with options that exclude each other."""

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = (),
        exclusions: Sequence[Exclusion] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.exclusions = tuple(exclusions)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            for one in self.exclusions:
                one.check(ctx)
        return rest

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(formatter, self.examples)


class Noun(click.Group):
    """A group of commands for one kind of thing.

    `former` maps words of former versions to the words that replace them. `lazy` has commands in
    other modules, which are imported when they are used. It maps the command's name to its
    `module:attribute` below `hub.cli` and to its help line, so that the help imports none of them.
    A call without a command means the command `default`, if that is not empty. A number alone means
    `show`.
    """

    command_class = Command

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = (),
        former: Mapping[str, Sequence[str]] | None = None,
        lazy: Mapping[str, tuple[str, str]] | None = None,
        default: str = "list",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.former = former or {}
        self.lazy = lazy or {}
        self.default = default

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = [*self.commands, *self.lazy]
        return [*(name for name in VERBS if name in names), *(n for n in names if n not in VERBS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = self.former.get(cmd_name, (cmd_name,))[0]
        if name not in self.lazy:
            return super().get_command(ctx, name)
        command: click.Command = command_named(self.lazy[name][0])
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._current(ctx, args))

    def _current(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the arguments without former words, and with the default command."""
        former = next((arg for arg in args[:1] if arg in self.former), None)
        if former is None and args and args[0].startswith("-"):
            former = next((arg for arg in args if arg in self.former), None)
        if former is not None:
            at = args.index(former)
            return [*self.former[former], *args[:at], *args[at + 1 :]]
        if not args:
            # Without arguments, shell completion offers the noun's commands.
            return [self.default] if self.default and not ctx.resilient_parsing else args
        if args[0].startswith("-") and self.default and not HELP & set(args):
            return [self.default, *args]
        if args[0].isdecimal() and "show" in self.list_commands(ctx):
            return ["show", *args]
        return args

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            # Only errors need it.
            from hub.cli.console.similar_names import no_such

            raise click.UsageError(no_such(args[0], known, f"tocsin {self.name}"), ctx)
        return super().resolve_command(ctx, args)

    def _described(self, name: str) -> click.Command:
        """Return a command with its help line. The module of a lazy command is not imported."""
        if name in self.lazy:
            return click.Command(name, help=self.lazy[name][1])
        return self.commands[name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self._described(name).get_short_help_str(1000)) for name in names]
            )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(formatter, self.examples)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem[str]]":
        from click.shell_completion import CompletionItem

        named = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        found = [
            *(CompletionItem(one, help=self._described(one).get_short_help_str()) for one in named),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]
        default = self.get_command(ctx, self.default) if self.default else None
        if incomplete.startswith("-") and default is not None:
            return [*found, *default.shell_complete(ctx, incomplete)]
        return found


def command(
    name: str | None = None, *, examples: Sequence[str], exclusions: Sequence[Exclusion] = ()
) -> Callable[[Callable[..., Any]], Command]:
    """Return the decorator of a command that stands alone, or of a noun's lazy command."""
    return click.command(name, cls=Command, examples=examples, exclusions=exclusions)


def noun(
    *,
    examples: Sequence[str],
    former: Mapping[str, Sequence[str]] | None = None,
    lazy: Mapping[str, tuple[str, str]] | None = None,
    default: str = "list",
) -> Callable[[Callable[..., Any]], Noun]:
    """Return the decorator of a noun. `Noun` explains the parameters."""
    return click.group(cls=Noun, examples=examples, former=former, lazy=lazy, default=default)
