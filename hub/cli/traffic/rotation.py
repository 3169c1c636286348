"""The options that `tocsin hook rotate-secret` and `tocsin hook rotate-key` share."""

import click

from hub.cli.console import options, output
from hub.cli.console.arguments import DurationType
from hub.cli.console.exclusions import Exclusion
from store.errors import Conflict


def overlapping(noun: str) -> options.Decorator:
    """Give a command the options for the time during which the old secret or key signs too."""
    overlap = click.option(
        "--overlap",
        type=DurationType(zero=True),
        default="24h",
        show_default=True,
        help=f"How long the old {noun} also signs: at most 7d; 0s for never.",
    )
    end = click.option("--end", is_flag=True, help=f"End an overlap now; the present {noun} stays.")
    return options.together(overlap, end)


def excluded_by_end(option: str) -> Exclusion:
    """Return what --end excludes: --overlap, and the option for the new secret or key."""
    return Exclusion("--end", [option, "--overlap"], "--end changes nothing else")


def refuse_third(ends_at: int | None, overlap: int, noun: str) -> None:
    """Raise Conflict if an overlap runs and another one is asked for.

    The former secret or key would no longer sign, although its receiver may still need it.
    """
    if ends_at is not None and overlap:
        when = output.plain(output.format_time(ends_at))
        raise Conflict(
            f"the former {noun} still signs until {when}, and would not after this: wait, or use"
            f" --overlap 0s if no receiver needs an old {noun}"
        )


def until(moment: int | None) -> str:
    """Return the end of a sentence: until when the old secret or key also signs.

    It is empty if the time is None.
    """
    ends_at = output.format_time(moment)
    return "" if ends_at is None else f"; the old one also signs until {output.plain(ends_at)}"
