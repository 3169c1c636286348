"""A progress bar for a long operation."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn

from hub.cli.console import output

COLUMNS = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error during the block, if that is a terminal.

    Yields a function that sets the bar: `set_bar(done, total)`.
    """
    console = output.console(error=True)
    with Progress(*COLUMNS, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(what)
        yield lambda done, total: progress.update(task, completed=done, total=total)
