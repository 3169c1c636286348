"""The page `reference/commands.md`: every command with its arguments and options."""

import inspect
from collections.abc import Iterator

import click

from hub.cli import main
from hub.cli.manual.markdown import code, fence, page, table

INTRODUCTION = """\
A command is a noun and a verb, such as `tocsin hook list`. The verbs are the same for every noun:
`list`, `show`, `add`, `edit` and `remove`, as far as they make sense for it. Some nouns have verbs
of their own, such as `pause`. A noun alone lists, if it has the verb `list`; `tocsin republish`
alone is `tocsin republish begin`. Each listing takes `--json`. Each removal lists what else is
removed, and asks. `--yes` answers the question; without a terminal it is required. Commands
without a noun do one thing, such as `tocsin emit`.

Each command shows its own help with `--help`. Most commands read the settings as `tocsin serve`
does: use `--config`, `--data-dir` or `--store` to name another installation. If a daemon runs on
the data directory, they use the daemon's settings. Only options take precedence over these. The
[exit codes](exit-codes.md) are the same for all commands, except `tocsin doctor`."""


def commands() -> str:
    parts = ["# Commands", INTRODUCTION]
    for path, command, context in all_commands():
        parts += _section(path, command, context)
    return page(*parts)


def root_context() -> click.Context:
    """Return the context of `tocsin` itself."""
    return click.Context(main, info_name="tocsin", **main.context_settings)


def all_commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield every command with its path (`tocsin hook add`), a group before its subcommands."""
    yield from _within(main, root_context())


def _within(
    group: click.Group, context: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        yield inner.command_path, command, inner
        if isinstance(command, click.Group):
            yield from _within(command, inner)


def _section(path: str, command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"{'##' if path.count(' ') == 1 else '###'} {path}"
    text = inspect.cleandoc(command.help or "").replace("\b\n", "")
    if isinstance(command, click.Group):
        yield text
        return
    yield fence(" ".join([path, *command.collect_usage_pieces(context)]), "console")
    yield text
    options = [one for one in command.params if isinstance(one, click.Option)]
    rows = [record for one in options if (record := one.get_help_record(context))]
    if rows:
        yield table(["option", "use"], [[code(names), about] for names, about in rows])
    yield fence("\n".join(getattr(command, "examples", ())), "sh")
