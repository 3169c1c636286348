"""The page `reference/exit-codes.md`: the exit codes of commands."""

from hub.cli.console.exits import CODES
from hub.cli.manual.markdown import code, page, sentence, table

INTRODUCTION = """\
A script can tell from the exit code why a command failed. The message on standard error says
more."""


def exit_codes() -> str:
    rows = [[code(number), sentence(text)] for number, text in CODES.items()]
    return page("# Exit codes", INTRODUCTION, table(["code", "meaning"], rows))
