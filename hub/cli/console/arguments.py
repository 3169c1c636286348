"""Parameter types that several commands use."""

import math
import os
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from store import clock
from store.errors import from_os_error

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
# A later time could not be written as a date.
LONGEST, LONGEST_WORDS = 5200 * 7 * clock.DAY, "5200w"
SPAN = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([smhdw])")


class WordType(click.ParamType[str]):
    """A text that is not empty."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value:
            self.fail(EMPTY, param, ctx)
        return str(value)


class PathType(click.Path):
    """A path that is not empty. An empty one would mean the current directory."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        if not os.fspath(value):
            self.fail(EMPTY, param, ctx)
        return super().convert(value, param, ctx)


class FileOrDirectoryType(PathType):
    """A path to write to. With a slash at its end, it is a directory, and must exist."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        text = os.fspath(value)
        if text.endswith("/") and not os.path.isdir(text):  # noqa: PTH112 - Path drops the slash
            self.fail(f"there is no directory {text}: make it first", param, ctx)
        return super().convert(value, param, ctx)


EMPTY = "it is empty"
# Not `readable`: the command that opens the file reports the error with a remedy. Click's own check
# would report it without one.
PATH = PathType(path_type=Path, readable=False)
FILE_OR_DIRECTORY = FileOrDirectoryType(path_type=Path, readable=False)
# The database's ids have 64 bits, and a query may add 1 to an id.
LARGEST_ID = 2**63 - 2


class IdType(click.ParamType[int]):
    """The id of a thing in the store."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if not re.fullmatch("-?[0-9]{1,30}", str(value)):
            self.fail(f"{value!r} is no id: ids are numbers, such as 7", param, ctx)
        number = int(value)
        if abs(number) > LARGEST_ID:
            self.fail(f"{value} is larger than any id", param, ctx)
        return number


class SecondsType(click.FloatRange):
    """A number of seconds within bounds. Unlike FloatRange, it rejects nan."""

    name = "seconds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return seconds


class DurationType(click.ParamType[int]):
    """A duration such as 90s, 15m, 2h, 30d or 1w. Converts it to microseconds."""

    name = "duration"

    def __init__(self, *, zero: bool = False) -> None:
        """`zero` is whether the duration may be 0."""
        self._zero = zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        matched = SPAN.fullmatch(value)
        if not matched:
            self.fail(f"{value!r} is no duration: write 90s, 15m, 2h, 30d or 1w", param, ctx)
        span = round(float(matched[1]) * UNITS[matched[2]] * clock.SECOND)
        if span > LONGEST:
            self.fail(f"{value!r} is longer than {LONGEST_WORDS}", param, ctx)
        if span == 0 and not self._zero:
            self.fail(f"{value!r} is over at once", param, ctx)
        return span


class MomentType(click.ParamType[int]):
    """An ISO 8601 time, or a duration before now. Converts it to microseconds since the epoch."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if SPAN.fullmatch(value):
            return clock.Clock().now() - DurationType(zero=True).convert(value, param, ctx)
        try:
            return clock.parse(value)
        except ValueError:
            self.fail(f"{value!r} is neither a duration (2h) nor an ISO 8601 time", param, ctx)


class InputFile(click.File):
    """A file to read; `-` is standard input.

    Raises Absent if the file does not exist, and another error of `from_os_error` if it cannot be
    read.
    """

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> IO[Any]:
        try:
            # It is opened once only: a named pipe would lose its writer.
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            if not isinstance(error.__context__, OSError):
                raise
            raise from_os_error(f"cannot read {value}", error.__context__) from None


class TwoPartType(click.ParamType[tuple[str, str]]):
    """A text of two parts. `name` shows its form, and `pattern` has a group for each part."""

    pattern: re.Pattern[str]

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        matched = self.pattern.fullmatch(value)
        if matched is None:
            self.fail(f"{value!r} is not {self.name.upper()}", param, ctx)
        return matched[1], matched[2]


class PairType(TwoPartType):
    """A parameter of the form NAME=VALUE."""

    name = "name=value"
    pattern = re.compile("([^=]+)=(.+)", re.DOTALL)


def distinct_names(
    ctx: click.Context, param: click.Parameter, value: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """Return pairs, each with another name. Raises click.BadParameter if a name is given twice."""
    names = [name for name, _ in value]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise click.BadParameter(f"{twice} is given twice", ctx, param)
    return value


class FullNameType(TwoPartType):
    """A repository's OWNER/NAME."""

    name = "owner/name"
    pattern = re.compile("([^/]+)/([^/]+)")

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem[str]]":
        # Only shell completion needs this module, and its import takes as long as all the others.
        from hub.cli.console import suggestions

        return suggestions.full_names(ctx, param, incomplete)
