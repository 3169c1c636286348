"""`tocsin help`: the manual in the terminal."""

import os
import shutil
import sys
import textwrap

import click
from click.shell_completion import CompletionItem

from hub.cli import COMMANDS, main
from hub.cli.commands import current
from hub.cli.console import output
from hub.cli.console.grammar import command
from hub.cli.manual import topics
from hub.cli.manual.commands import root_context
from hub.cli.manual.topics import ManualTopic
from hub.manual.library import Manual, manual
from store.errors import Missing

# The number of topics that are listed if several match.
MOST_NAMED = 20
MOST_MENTIONED = 8
# On a terminal, a text beside a name has this many columns at least, or is not wrapped.
LEAST_TEXT = 20


def _offer(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem[str]]:
    found = {one.name: one.title for one in topics.pages(manual())} | dict.fromkeys(COMMANDS, "")
    return [
        CompletionItem(name, help=text)
        for name, text in found.items()
        if name[: len(typed)] == typed
    ]


@command("help", examples=["tocsin help", "tocsin help rotate-secrets"])
@click.argument("topic", nargs=-1, shell_complete=_offer)
def help_(topic: tuple[str, ...]) -> None:
    """Show the manual: the page, the heading or the command that TOPIC names.

    Without TOPIC it lists the pages. On a terminal it opens a pager; otherwise it prints Markdown.
    """
    wanted, pages = " ".join(topic), manual()
    if not topic:
        columns = shutil.get_terminal_size().columns if output.is_terminal() else None
        click.echo(listing(pages, columns))
        return
    found = topics.link_target(pages, wanted) or topics.page_named(pages, wanted)
    if found is None and _show_command(topic):
        return
    found = found or topics.heading_named(pages, wanted) or _only(pages, wanted)
    _show(found.source)


def listing(pages: Manual, columns: int | None = None) -> str:
    """List every page with the name to ask for, grouped as in the manual's contents.

    Lines longer than `columns` are wrapped.
    """
    names = [one.name for one in topics.pages(pages)]
    width = max(map(len, names), default=0) + 2
    lines = ["tocsin help TOPIC shows one of these, or the help of a command."]
    for part in pages.contents:
        lines += ["", part.title]
        for entry in part.entries:
            name = f"  {entry.name.rpartition('/')[2]:{width}}"
            lines += _hanging(name, entry.text or entry.title, columns)
    return "\n".join(lines)


def _hanging(head: str, text: str, columns: int | None) -> list[str]:
    """Return the lines of a text beside its head, each of `columns` at most, if there is room."""
    if columns is None or columns < len(head) + LEAST_TEXT:
        return [head + text]
    indent = " " * len(head)
    return textwrap.wrap(text, columns, initial_indent=head, subsequent_indent=indent)


def _show_command(path: tuple[str, ...]) -> bool:
    """Show the help of a command. Return whether these words name one."""
    command: click.Command | None = main
    context = root_context()
    words = current([*(path[1:] if path[0] == "tocsin" and len(path) > 1 else path)])
    for name in words:
        command = command.get_command(context, name) if isinstance(command, click.Group) else None
        if command is None:
            return False
        context = click.Context(command, info_name=name, parent=context)
    assert command is not None
    click.echo(command.get_help(context))
    return True


def _only(pages: Manual, wanted: str) -> ManualTopic:
    """Return the only topic whose title has these words.

    Raises Missing if there is none or there are several. The message suggests topics, also those
    whose texts have these words.
    """
    found = topics.having(pages, wanted)
    if len(found) == 1:
        return found[0]
    if found:
        names = "\n".join(f"  {one.name}" for one in found[:MOST_NAMED])
        raise Missing(f"Several topics have {wanted!r} in their titles:\n{names}")
    if mentioned := topics.mentioning(pages, wanted):
        names = "\n".join(f"  {one.name}  ({one.page.title})" for one in mentioned[:MOST_MENTIONED])
        raise Missing(f"No topic is called {wanted!r}. These mention it:\n{names}")
    close = topics.close(pages, wanted, list(COMMANDS))
    meant = f"Did you mean {close}?" if close else "`tocsin help` lists them."
    raise Missing(f"No topic is called {wanted!r}. {meant}")


def _show(source: str) -> None:
    if not sys.stdout.isatty():
        click.echo(source, nl=False)
        return
    from rich.markdown import Markdown

    console = output.console()
    with console.capture() as captured:
        console.print(Markdown(source, hyperlinks=False))
    # Without -R, less shows the colours as codes. click sets it only if it may decide on colours.
    os.environ["LESS"] = f"-R {os.environ.get('LESS', '')}".rstrip()
    click.echo_via_pager(captured.get(), color=True)
