"""Options of a command that exclude each other, so that none is ignored without a word."""

from collections.abc import Sequence
from dataclasses import dataclass

import click
from click.core import ParameterSource


@dataclass(frozen=True, slots=True)
class Exclusion:
    """An option that excludes each of the others. `reason` ends the message of the error."""

    option: str
    others: Sequence[str]
    reason: str

    def check(self, ctx: click.Context) -> None:
        """Raise click.UsageError if the command line has the option and one of the others."""
        if not is_given(ctx, self.option, environment=True):
            return
        for other in self.others:
            if is_given(ctx, other):
                raise click.UsageError(
                    f"{self.option} and {other} exclude each other: {self.reason}", ctx
                )


def is_given(ctx: click.Context, option: str, *, environment: bool = False) -> bool:
    """Return whether the command line has an option, such as --json.

    With `environment`, an environment variable counts, too. Raises LookupError if the command has
    no such option.
    """
    found = next((one for one in ctx.command.params if option in one.opts), None)
    if found is None:
        raise LookupError(f"{ctx.command_path} has no option {option}")
    sources = [ParameterSource.COMMANDLINE, *([ParameterSource.ENVIRONMENT] if environment else [])]
    return ctx.get_parameter_source(found.name or "") in sources
