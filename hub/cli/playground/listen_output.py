"""The output of `tocsin listen`: one line for each delivery, or JSON, and bodies on request."""

import contextlib
from collections.abc import Callable

import click
from rich.console import Console
from rich.text import Text

from hub.cli.console import output, streams
from hub.cli.console.bodies import pretty
from hub.cli.playground.received_request import ReceivedRequest
from hub.cli.playground.receiver import ReceivedDelivery, ReceiverAnswer
from hub.ui import formatting
from store import clock

SHORT = {
    "x-hub-signature-256": "sha256",
    "x-hub-signature": "sha1",
    "webhook-signature": "standard",
}
Show = Callable[[ReceivedDelivery], None]
# The maximum of characters that a delivery's line shows of a failed answer.
FIRST_LINE = 80


def printer(*, as_json: bool, bodies: bool, checked: bool, forwarded: bool) -> Show:
    """Return a function that prints a delivery.

    `bodies` prints the body too, and with `forwarded` the body of the answer. `checked` says that
    there is a secret to check signatures with.
    """
    console = output.console()

    def show(delivery: ReceivedDelivery) -> None:
        if as_json:
            click.echo(output.dumps(shape(delivery, forwarded=forwarded), indent=False))
            return
        console.print(line(delivery, checked=checked), soft_wrap=True)
        if bodies:
            _print_body(console, delivery.request.payload)
            if forwarded and delivery.answer is not None:
                _print_body(console, delivery.answer.body)

    return show


def shown_or_ended(show: Show, end: Callable[[], None]) -> Show:
    """Return `show`, which calls `end` once standard output cannot be written any more.

    An error would only end the task of one delivery: before its answer goes to the hub, which would
    deliver again and again.
    """

    def shown(delivery: ReceivedDelivery) -> None:
        try:
            show(delivery)
        except (OSError, SystemExit) as error:  # rich exits if the reader has closed the pipe
            streams.discard_output()
            end()
            if not isinstance(error, BrokenPipeError | SystemExit):
                # Standard error may lead to the same full disk.
                with contextlib.suppress(OSError):
                    output.print_note(f"cannot write the output: {error.strerror}")

    return shown


def shape(delivery: ReceivedDelivery, *, forwarded: bool) -> dict[str, object]:
    """Return a delivery and its answer for JSON."""
    received, answer = delivery.request, delivery.answer
    return {
        "received_at": output.format_time(clock.Clock().now()),
        "event": received.event,
        "guid": received.guid,
        "method": received.method,
        "path": received.path,
        "content_type": received.content_type,
        "bytes": len(received.body),
        "verified": received.verified if received.checks else None,
        "signatures": received.checks,
        "payload": received.payload,
        "status": None if answer is None else answer.status,
        "ms": round(delivery.seconds * 1000, 1),
        "answer": answer.body if forwarded and answer is not None else None,
        "problem": (answer.problem or None) if answer is not None else "the sender left before",
    }


def line(delivery: ReceivedDelivery, *, checked: bool = True) -> Text:
    """Return the line of a delivery: its signatures, the answer, and what it is."""
    received = delivery.request
    text = Text(output.printable(received.event), style="bold cyan")
    text.append(f"  {output.printable(received.guid)}  ", style="default not bold")
    text.append_text(verdict(received, checked=checked))
    text.append_text(_answered(delivery))
    about = f"{received.method} {received.path}  {received.content_type}  {len(received.body)} B"
    text.append(f"  {output.printable(about)}", style="dim not bold")
    return text


def _answered(delivery: ReceivedDelivery) -> Text:
    took = formatting.duration(round(delivery.seconds * clock.SECOND))
    answer = delivery.answer
    if answer is None:
        return Text(f"  → no answer: the sender left after {took}", style="bold red")
    good = 200 <= answer.status < 300
    text = Text(f"  → {answer.status}", style="green" if good else "bold red")
    text.append(f" in {took}", style="default not bold")
    if not good and (said := answer.problem or _first_line(answer)):
        text.append(f": {output.printable(said)}", style="default not bold")
    return text


def _first_line(answer: ReceiverAnswer) -> str:
    text = answer.body[: 4 * FIRST_LINE].decode(errors="replace").strip()
    return text.partition("\n")[0][:FIRST_LINE]


def _print_body(console: Console, body: bytes) -> None:
    if body.strip():
        text = output.printable(pretty(body), lines=True)
        console.print(Text(text), soft_wrap=True)


def verdict(received: ReceivedRequest, *, checked: bool = True, named: bool = True) -> Text:
    """Return the result of the signature check as coloured text.

    `named` lists the right signatures. Wrong ones are always listed.
    """
    if not checked:
        return Text("not checked: no --secret given", style="yellow")
    if not received.checks:
        by_key = any(name.lower() == b"webhook-signature" for name, _ in received.headers)
        text = "not checked: only a key has signed it" if by_key else "✗ not signed"
        return Text(text, style="yellow")
    wrong = [name for name, right in received.checks.items() if not right]
    if wrong:
        return Text(f"✗ wrong: {', '.join(wrong)}", style="bold red")
    names = ", ".join(SHORT[name] for name in received.checks)
    return Text(f"✓ verified: {names}" if named else "✓ verified", style="green")
