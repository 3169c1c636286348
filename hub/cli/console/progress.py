"""Progress bars of long operations. They go to standard error, if that is a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn

from hub.cli.console import output


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar with its percentage during the block.

    Yields a function that sets the bar: `set_bar(done, total)`.
    """
    with bars(TextColumn("{task.percentage:>3.0f} %")) as progress:
        task = progress.add_task(what)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def bars(*columns: ProgressColumn) -> Progress:
    """Return bars with their descriptions, followed by these columns."""
    console = output.console(error=True)
    head = "{task.description}", BarColumn()
    return Progress(*head, *columns, console=console, disable=not console.is_terminal)
