"""The report of `tocsin load`: generated secrets before the commit, and the changes after it."""

from collections import Counter
from collections.abc import Sequence

import click

from hub.cli.console import output
from hub.cli.state.changes import StateChange
from store.errors import Unavailable

# Characters that a pipe takes at once. If its reader paused in a longer text before the commit, the
# database would stay locked.
EARLY = 32_000


class LoadReport:
    """The report of one run, as JSON or for people."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._shown = False

    def show_secrets(self, changes: Sequence[StateChange]) -> None:
        """Print the generated secrets, before the commit that makes them valid.

        A kill or a full disk can then lose no secret that exists. A very long text is left to
        `finish`. Raises Unavailable if the transaction runs a second time, with other secrets.
        """
        text = self._secrets(changes)
        if not text or len(text) > EARLY:
            return
        if self._shown:
            raise Unavailable(
                "another process changed the database at the same time: nothing was loaded, and the"
                " secrets shown are not valid. Run the command again"
            )
        self._shown = True
        click.echo(text)

    def finish(self, changes: Sequence[StateChange]) -> None:
        """Print what has not been printed yet, after the commit."""
        if not self._as_json:
            _print_changes(changes)
        text = _json(changes) if self._as_json else self._secrets(changes)
        if text and not self._shown:
            click.echo(text)

    def _secrets(self, changes: Sequence[StateChange]) -> str:
        """Return the text that has the secrets, or "" without any. With JSON, it is everything."""
        if self._as_json:
            return _json(changes) if any(each.value for each in changes) else ""
        tokens, secrets = _values(changes, "token"), _values(changes, "app")
        lines = [f"token of {name}: {value} (not shown again)" for name, value in tokens.items()]
        lines += [
            f"client secret of {name}: {value} (not shown again)" for name, value in secrets.items()
        ]
        return "\n".join(lines)


def _values(changes: Sequence[StateChange], kind: str) -> dict[str, str]:
    """Return the generated secrets of this kind by their names."""
    return {each.name: each.value for each in changes if each.value and each.kind == kind}


def _rows(changes: Sequence[StateChange]) -> list[dict[str, str]]:
    return [{"kind": each.kind, "name": each.name, "outcome": each.outcome} for each in changes]


def _json(changes: Sequence[StateChange]) -> str:
    tokens, secrets = _values(changes, "token"), _values(changes, "app")
    return output.dumps({"changes": _rows(changes), "tokens": tokens, "app_secrets": secrets})


def _print_changes(changes: Sequence[StateChange]) -> None:
    output.print_rows(_rows(changes), as_json=False, empty="the document is empty")
    counted = Counter(each.outcome for each in changes)
    click.echo(", ".join(f"{counted[each]} {each}" for each in ("created", "updated", "unchanged")))
