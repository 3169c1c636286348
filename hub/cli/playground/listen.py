"""`tocsin listen`: a receiver for tests, which prints deliveries."""

import asyncio

import click
import uvloop
from rich.console import Console
from rich.text import Text

from hub.cli.console import output
from hub.cli.console.bodies import pretty, shortened
from hub.cli.console.grammar import command
from hub.cli.http_server.server import bind, serving, signals, url_of
from hub.cli.playground.receiver import ReceivedRequest, Receiver
from store import clock

SHORT = {
    "x-hub-signature-256": "sha256",
    "x-hub-signature": "sha1",
    "webhook-signature": "standard",
}


@command(examples=['tocsin listen --port 9000 --secret "ring the bells"'])
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=9000, show_default=True,
              help="Port to listen on; 0 is any free one.")  # fmt: skip
@click.option("--secret", envvar="TOCSIN_LISTEN_SECRET", show_envvar=True,
              help="Check signatures with this secret.")  # fmt: skip
@click.option("--status", type=click.IntRange(200, 599), default=200, show_default=True,
              help="The status to answer with.")  # fmt: skip
@click.option("--delay", type=click.FloatRange(0, 600), default=0.0, show_default=True,
              help="Seconds before the answer.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each delivery.")
def listen(
    host: str, port: int, secret: str | None, status: int, delay: float, as_json: bool
) -> None:
    """Receive deliveries, check their signatures and print them, until Ctrl-C."""
    console = output.console()

    def take(received: ReceivedRequest) -> None:
        if as_json:
            click.echo(output.dumps(_shape(received), indent=False))
        else:
            _print(console, received, checked=secret is not None)

    receiver = Receiver(take, secret=secret, status=status, delay=delay)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_listen(receiver, host, port))


async def _listen(receiver: Receiver, host: str, port: int) -> None:
    ended = asyncio.Event()
    with bind(host, port) as bound, signals(ended.set):
        async with serving(receiver, bound):
            output.print_note(f"listening on {url_of(bound)}/, any path")
            await ended.wait()


def _shape(received: ReceivedRequest) -> dict[str, object]:
    return {
        "received_at": output.format_time(clock.Clock().now()),
        "event": received.event,
        "guid": received.guid,
        "path": received.path,
        "content_type": received.content_type,
        "bytes": len(received.body),
        "verified": received.verified if received.checks else None,
        "signatures": received.checks,
        "payload": received.payload,
    }


def _print(console: Console, received: ReceivedRequest, *, checked: bool) -> None:
    line = Text(output.printable(received.event), style="bold cyan")
    line.append(f"  {output.printable(received.guid)}  ", style="default not bold")
    line.append_text(verdict(received, checked=checked))
    about = f"{received.method} {received.path}  {received.content_type}  {len(received.body)} B"
    line.append(f"  {output.printable(about)}", style="dim not bold")
    console.print(line, soft_wrap=True)
    if received.payload:
        console.print(
            Text(output.printable(shortened(pretty(received.payload)), lines=True)), soft_wrap=True
        )


def verdict(received: ReceivedRequest, *, checked: bool = True) -> Text:
    """Return the result of the signature check as coloured text."""
    if not checked:
        return Text("not checked: no --secret given", style="yellow")
    if not received.checks:
        return Text("✗ not signed", style="yellow")
    wrong = [name for name, right in received.checks.items() if not right]
    if wrong:
        return Text(f"✗ wrong: {', '.join(wrong)}", style="bold red")
    return Text(f"✓ verified: {', '.join(SHORT[name] for name in received.checks)}", style="green")
