"""`tocsin listen`: a receiver for tests, which prints deliveries and how they were answered."""

import asyncio
import contextlib
import secrets
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import click

from hub.cli.console import options, output, suggestions
from hub.cli.console.arguments import FullNameType, SecondsType
from hub.cli.console.exclusions import Exclusion, is_given
from hub.cli.console.grammar import command
from hub.cli.http_server.event_loop import new_event_loop
from hub.cli.http_server.server import bind, port_of, serving, signals, url_of
from hub.cli.playground.listen_output import Show, printer, shown_or_ended
from hub.cli.playground.receiver import Answerer, Receiver, fixed
from hub.cli.playground.subscribing import SubscriptionOptions
from hub.cli.playground.temporary_hook import temporary_hook
from hub.cli.service.configuration import Configuration, Settings
from store.hooks.event_names import WILDCARD


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """The address, the answers, and the repository whose events are wanted.

    Each answer is given after `delay` seconds.
    """

    host: str
    port: int
    status: int
    delay: float
    forward: str | None
    full_name: tuple[str, str] | None
    events: tuple[str, ...]
    hook: str | None
    server: str | None
    token: str | None = field(repr=False)


class ForwardURL(click.ParamType[str]):
    """The URL of an application. `127.0.0.1:3000` and `3000` are short for one on this machine."""

    name = "url"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        url = f"127.0.0.1:{value}" if value.isdecimal() else value
        url = url if "://" in url else f"http://{url}"
        # The import takes long, and only some options need it.
        from httpx import URL, InvalidURL

        try:
            parts = urlsplit(url)
            right = parts.scheme in ("http", "https") and parts.port != 0 and URL(url).host
        except (ValueError, InvalidURL):
            right = False
        if not right:
            self.fail(f"{value!r} is no URL: write http://127.0.0.1:3000", param, ctx)
        return url


@command(
    examples=[
        'tocsin listen --port 9000 --secret "ring the bells"',
        "tocsin listen --subscribe ada/bell-tower --forward http://127.0.0.1:3000",
        "tocsin listen --server https://hub.example --hook ada/bell/7 --forward 3000",
        "tocsin listen --server https://hub.example --subscribe ada/bell --forward 3000",
    ],
    exclusions=[
        Exclusion("--forward", ["--status"], "the application answers"),
        Exclusion("--server", ["--host", "--port"], "with a server, nothing listens here"),
    ],
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=9000, show_default=True,
              help="Port to listen on; 0 is any free one. With --subscribe, 0 is the"
              " default.")  # fmt: skip
@click.option("--secret", envvar="TOCSIN_LISTEN_SECRET", show_envvar=True,
              help="Check signatures with this secret; `-` reads standard input. Without it, only"
              " --subscribe checks them.")  # fmt: skip
@click.option("--subscribe", "full_name", metavar="OWNER/NAME", type=FullNameType(),
              help="Make a hook for this receiver, and remove it at the end.")  # fmt: skip
@click.option("--event", "events", multiple=True, shell_complete=suggestions.event_names,
              help="With --subscribe: only this event, not every event; repeatable.")  # fmt: skip
@click.option("--server", type=ForwardURL(), metavar="URL", envvar="TOCSIN_LISTEN_SERVER",
              show_envvar=True,
              help="Fetch deliveries from the hub at this URL, and listen on no port. Needs"
              " --token, and --hook or --subscribe.")  # fmt: skip
@click.option("--token", envvar="TOCSIN_LISTEN_TOKEN", show_envvar=True,
              help="With --server: a token that may write hooks.")  # fmt: skip
@click.option("--hook", metavar="OWNER/NAME/ID",
              help="With --server: the pull hook. For a hook of an organization: "
              "ORG/ID.")  # fmt: skip
@click.option("--forward", type=ForwardURL(), metavar="URL",
              help="Pass each request on, and answer as this URL does. Not with"
              " --status.")  # fmt: skip
@click.option("--status", type=click.IntRange(200, 599), default=200, show_default=True,
              help="The status to answer with.")  # fmt: skip
@click.option("--delay", type=SecondsType(0, 600), default=0.0, show_default=True,
              help="Seconds before the answer, or before the request is passed on.")  # fmt: skip
@click.option("--body", "bodies", is_flag=True, help="Print bodies too.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each delivery.")
@options.configured
def listen(
    configuration: Configuration,
    /,
    secret: str | None,
    bodies: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Receive deliveries, check their signatures, and print a line for each, until Ctrl-C.

    With --forward, your application gets the deliveries, with the same headers and body. Its answer
    is printed, and goes back to the hub. If the URL has no path, the delivery's path is kept. If
    the application does not answer, the delivery has failed.

    With --subscribe, the installation on this machine delivers the events of a repository here.
    The hook has a random secret unless you give one, and the signatures are checked with it.

    With --server, the command fetches deliveries from a hub elsewhere, so this machine needs no
    public address. They belong to a pull hook (--hook), or to a hook that exists as long as the
    command runs (--subscribe). The hub records the answers as attempts.
    """
    wanted = ListenOptions(**given)
    _check(wanted)
    secret = options.given_secret(secret)
    if secret == "":
        raise click.UsageError("--secret is empty: leave it out, or give a secret")
    if wanted.full_name is not None and secret is None:
        secret = secrets.token_hex(32)
    show = printer(
        as_json=as_json,
        bodies=bodies,
        checked=secret is not None,
        forwarded=wanted.forward is not None,
    )
    work = _listen if wanted.server is None else _listen_remotely
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(work(wanted, show, secret, configuration.settings))


def _check(wanted: ListenOptions) -> None:
    if wanted.events and wanted.full_name is None:
        raise click.UsageError("--event is for --subscribe: without it, hooks decide on the events")
    if wanted.server is None:
        if wanted.hook is not None:
            raise click.UsageError("--hook needs --server, the hub to fetch its deliveries from")
        if _is_given("--token"):
            raise click.UsageError("--token needs --server, the hub that accepts it")
        return
    if (wanted.hook is None) == (wanted.full_name is None):
        raise click.UsageError("with --server, name a hook with --hook, or use --subscribe")
    if not wanted.token:
        raise click.UsageError("--server needs a token: --token, or TOCSIN_LISTEN_TOKEN")
    if not (wanted.token.isascii() and wanted.token.isprintable()):
        raise click.UsageError("--token is no token: tokens are ASCII, without line ends")


def _is_given(option: str) -> bool:
    return is_given(click.get_current_context(), option)


async def _listen(
    wanted: ListenOptions, show: Show, secret: str | None, settings: Settings
) -> None:
    ended = asyncio.Event()
    port = 0 if wanted.full_name is not None and not _is_given("--port") else wanted.port
    async with contextlib.AsyncExitStack() as stack:
        bound = stack.enter_context(bind(wanted.host, port))
        stack.enter_context(signals(ended.set))
        answer = await stack.enter_async_context(_answering(wanted))
        receiver = Receiver(shown_or_ended(show, ended.set), answer=answer, secret=secret)
        await stack.enter_async_context(serving(receiver, bound))
        said = [f"listening on {url_of(bound)}/, any path"]
        if wanted.full_name is not None:
            subscribed = _subscription(wanted, bound, secret)
            hook_id = await stack.enter_async_context(temporary_hook(settings, subscribed))
            name = "/".join(wanted.full_name)
            said.append(f"hook {hook_id} of {name} delivers here until this command ends")
        for line in said:
            output.print_note(line)
        await ended.wait()


async def _listen_remotely(
    wanted: ListenOptions, show: Show, secret: str | None, settings: Settings
) -> None:
    # httpx takes as long to import as all the rest.
    from hub.cli.playground import remote_listen

    assert wanted.server is not None, "the caller has checked it"
    assert wanted.token is not None, "the caller has checked it"
    remote = remote_listen.RemoteOptions(
        wanted.server,
        wanted.token,
        wanted.hook,
        wanted.full_name,
        wanted.events or (WILDCARD,),
        secret,
    )
    ended = asyncio.Event()
    with signals(ended.set):
        async with _answering(wanted) as answer:
            shown = shown_or_ended(show, ended.set)
            await remote_listen.listen(remote, shown, answer, ended)


@contextlib.asynccontextmanager
async def _answering(wanted: ListenOptions) -> AsyncIterator[Answerer]:
    if wanted.forward is None:
        yield fixed(wanted.status, wanted.delay)
        return
    # httpx takes as long to import as all the rest.
    from hub.cli.playground.forwarder import forwarding

    async with forwarding(wanted.forward, wanted.delay) as answer:
        yield answer


def _subscription(
    wanted: ListenOptions, bound: socket.socket, secret: str | None
) -> SubscriptionOptions:
    assert wanted.full_name is not None, "the caller has checked it"
    callback = f"{_reachable(bound)}/"
    return SubscriptionOptions(
        wanted.full_name, callback, wanted.events or (WILDCARD,), secret=secret
    )


def _reachable(bound: socket.socket) -> str:
    """Return the URL under which this machine reaches the receiver."""
    host = ip_address(bound.getsockname()[0])
    if not host.is_unspecified:
        return url_of(bound)
    loopback = "127.0.0.1" if host.version == 4 else "[::1]"
    return f"http://{loopback}:{port_of(bound)}"
