"""The keys of the demonstration, while it stays open."""

import asyncio
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

import click
import httpx

from hub.cli.console import output
from hub.cli.console.interactive import on_key
from hub.cli.playground.demo_client import DemoClient
from hub.cli.playground.demo_events import EVENTS, NAME, OWNER
from hub.cli.playground.demo_scene import BROKEN, DemoScene
from store.errors import Unusable

NUMBERED = dict(zip("123", EVENTS, strict=True))
# "\x04" is Ctrl-D, and "" is the end of input.
ENDING = ("q", "Q", "\x04", "")


@dataclass
class DemoKeys:
    """The demonstration as a playground. Each key has an effect."""

    scene: DemoScene
    client: DemoClient
    hub: str
    dashboard: str = field(repr=False)
    """The address at which the dashboard opens with a session."""
    token: str = field(repr=False)
    directory: Path
    ended: asyncio.Event

    async def run(self) -> None:
        """Obey keys until one of ENDING is pressed, or `ended` is set."""
        with on_key(self._press):
            # Only now does the terminal read single keys. If the introduction came earlier, a key
            # that is pressed would be lost.
            self._introduce()
            await self.ended.wait()

    def _introduce(self) -> None:
        events = "   ".join(f"{key} {event}" for key, event in NUMBERED.items())
        click.echo(f"""
It goes on. Press a key:

  {events}   send an event
  b   break the receiver: it answers {BROKEN}, until you press b again
  d   show the dashboard's address, which signs you in
  c   show commands for another terminal
  q   end, and remove {self.directory}
""")
        self._show_dashboard()

    def _press(self, key: str) -> None:
        if key in ENDING:
            self.ended.set()
        elif key in NUMBERED:
            self.scene.run(self._send(NUMBERED[key]))
        elif key == "b":
            self._break()
        elif key == "d":
            self._show_dashboard()
        elif key == "c":
            self._show_commands()

    async def _send(self, event: str) -> None:
        try:
            await self.client.post(event)
        except (Unusable, httpx.HTTPError) as error:
            output.print_note(f"{event} could not be sent: {error}")

    def _break(self) -> None:
        self.scene.broken = not self.scene.broken
        if self.scene.broken:
            click.echo(f"the receiver is broken: it answers {BROKEN} now, and the hub tries again")
        else:
            click.echo("the receiver works again: what waits arrives with its next attempt")

    def _show_dashboard(self) -> None:
        click.echo(f"dashboard: {self.dashboard}\n")

    def _show_commands(self) -> None:
        click.echo(f"""
  export TOKEN={self.token}
  curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{{"ref": "refs/heads/main", "commits": []}}' {self.hub}/{OWNER}/{NAME}/events/push
  curl -H "Authorization: Bearer $TOKEN" {self.hub}/repos/{OWNER}/{NAME}/hooks/1/deliveries
  {this_command()} delivery list --data-dir {shlex.quote(str(self.directory))}
""")


def this_command() -> str:
    """Return the words with which a shell starts this program."""
    program = Path(sys.argv[0])
    # With `python -m tocsin`, `sys.argv[0]` is the path of a module, which a shell cannot start.
    words = [sys.executable, "-m", "tocsin"] if program.suffix == ".py" else [str(program)]
    return shlex.join(words)
