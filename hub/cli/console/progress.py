"""A bar for what takes a while, where somebody watches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn

from hub.cli.console import output

COLUMNS = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Gives what is told how much is done, and of how much."""
    console = output.console(error=True)
    with Progress(*COLUMNS, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(what)
        yield lambda done, total: progress.update(task, completed=done, total=total)
