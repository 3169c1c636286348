"""`tocsin hook add` and `tocsin hook edit`: a hook's address, events, secret and options."""

import secrets as random_secrets
from collections.abc import Callable
from typing import Any

import click
import orjson
from pydantic import ValidationError

from hub.cli.console import options, output, suggestions
from hub.cli.console.arguments import FullNameType
from hub.cli.console.grammar import command
from hub.cli.service.configuration import Configuration
from hub.cli.traffic import api_context, endpoint_options, hook_place
from hub.cli.traffic.hook import HOOK_ID, find
from hub.ingest import hook_events
from store import Connection, Row
from store.errors import Invalid
from store.formats.formats import FORMATS
from store.hooks import batch_options, hooks
from store.hooks.hook_options import DeliveryOptions
from store.hooks.hook_targets import HookTarget

CONTENT_TYPES = ("json", "form")
DELIVERY = (
    click.option("--timeout", metavar="SECONDS", help="Timeout of a whole attempt."),
    click.option(
        "--retries", metavar="SECONDS,...", help="Delay before each attempt, including the first."
    ),
    click.option("--rate", metavar="NUMBER", help="Maximum of deliveries a second."),
    click.option("--concurrency", metavar="NUMBER", help="Maximum of concurrent requests."),
    click.option(
        "--breaker",
        metavar="NUMBER",
        help="Consecutive failures that open the circuit; 0 for never.",
    ),
    click.option(
        "--disable-after",
        metavar="SECONDS",
        help="Disable it after failing this long; 0 for never.",
    ),
    click.option(
        "--signatures",
        metavar="NAME,...",
        help="Which of sha256, sha1, v1 and v1a are sent. v1a is made with a private key.",
    ),
    click.option("--format", metavar="NAME", help=f"The form of the body: {', '.join(FORMATS)}."),
    click.option(
        "--type-prefix", metavar="NAME", help="How the types of CloudEvents begin: com.github."
    ),
    click.option(
        "--propagate",
        metavar="always|never",
        help="Whether the receiver gets the trace context of events.",
    ),
    click.option(
        "--filter",
        metavar="JSON",
        help="Conditions on an event, or an expression in CEL; other events are left out.",
    ),
    click.option(
        "--ordering",
        metavar="ORDER",
        help="none, hook, repository, or a path in the payload such as /pull_request/id.",
    ),
    click.option(
        "--batch",
        metavar="LIMITS",
        help="Several deliveries in one request: `on`, or max_events=50,max_wait=2.",
    ),
    click.option(
        "--on-exhausted",
        metavar="skip|block",
        help="With an ordering: whether a key goes on after a dead delivery.",
    ),
    click.option(
        "--max-block",
        metavar="SECONDS",
        help="With an ordering: how long a delivery may keep others waiting.",
    ),
    *endpoint_options.OPTIONS,
    click.option(
        "--expire-idle",
        metavar="SECONDS",
        help="Remove the hook if nobody fetches from it for this long. For pull hooks only.",
    ),
)
"""The delivery options, which are named like the members of DeliveryOptions."""


def _filter(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"filter: this is not JSON: {error}") from None


READERS: dict[str, Callable[[Any], Any]] = {
    "retries": lambda text: text.split(","),
    "signatures": lambda text: text.split(","),
    "filter": _filter,
    "headers": endpoint_options.read_headers,
    "batch": batch_options.parse,
    "ordering": lambda text: {"path": text} if text.startswith("/") else text,
}
"""The readers of options that are more than one value."""


def delivery_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of DELIVERY."""
    for option in reversed(DELIVERY):
        command = option(command)
    return command


@command(
    examples=[
        "tocsin hook add ada/bell-tower https://receiver.example/hook",
        "tocsin hook add ada/bell-tower https://receiver.example/hook --event '*'",
        "tocsin hook add --org tower https://receiver.example/hook --event team",
        "tocsin hook add --system https://receiver.example/hook",
        "tocsin hook add ada/bell-tower pull:ci",
    ]
)
@click.argument("words", metavar="[OWNER/NAME] URL", nargs=-1, required=True,
                shell_complete=suggestions.full_names)  # fmt: skip
@hook_place.around
@click.option("--event", "events", multiple=True, default=["push"], show_default=True,
              shell_complete=suggestions.event_names,
              help="An event, or '*' for all; repeatable.")  # fmt: skip
@click.option(
    "--secret",
    help="Its secret; `-` reads standard input.  [default: a random one, which is shown]",
)
@click.option("--content-type", type=click.Choice(CONTENT_TYPES), default="json", show_default=True,
              help="The form of the payload.")  # fmt: skip
@click.option("--insecure-ssl", is_flag=True, help="Do not verify the receiver's certificate.")
@delivery_options
@options.configured
def add(
    configuration: Configuration,
    /,
    words: tuple[str, ...],
    organization: str | None,
    system: bool,
    events: tuple[str, ...],
    secret: str | None,
    content_type: str,
    insecure_ssl: bool,
    **given: Any,
) -> None:
    """Create a hook of a repository, an organization or everything.

    A hook of an organization gets the events of all its repositories. A hook of the whole
    installation gets every event. The hook receives a ping. If the URL is `pull:` and a name, the
    receiver fetches the deliveries.
    """
    full_name, url = _place_and_url(words, around=organization is not None or system)
    settings = configuration.settings
    chosen = options.given_secret(secret)
    value = random_secrets.token_hex(32) if chosen is None else chosen
    delivery = _merged({}, _said_options(given))

    def target(db: Connection) -> HookTarget:
        found = hook_place.find(db, full_name, organization, system)
        assert found is not None, "the words name a repository, or the options another target"
        return found

    def make(db: Connection) -> Row:
        made = hooks.create(
            db,
            target(db),
            url=url,
            events=events,
            secret=value,
            content_type=content_type,
            insecure_ssl=insecure_ssl,
            options=delivery,
            most=settings.hooks_per_event,
        )
        hook_events.ping(api_context.for_hook(db, settings, made), made)
        return made

    with options.opening(settings) as store:
        store.look(target)
        api_context.validate_callback(settings, url)
        api_context.validate_token_url(settings, delivery)
        made = store.do(make)
    named = organization or ("the whole installation" if system else words[0])
    output.print_note(f"made hook {made['id']} of {named}, and sent a ping to it")
    if chosen is None:
        click.echo(value)
        output.print_note("this is its secret, which is not shown again")


def _place_and_url(words: tuple[str, ...], *, around: bool) -> tuple[tuple[str, str] | None, str]:
    """Return the repository, if the words begin with one, and the URL."""
    if len(words) != (1 if around else 2):
        raise click.UsageError("name a repository (OWNER/NAME), --org or --system, and then a URL")
    context = click.get_current_context()
    return None if around else FullNameType().convert(words[0], None, context), words[-1]


@command(
    examples=["tocsin hook edit 1 --rate 10", "tocsin hook edit 1 --event push --event issues"]
)
@HOOK_ID
@click.option("--url", help="Where its deliveries go.")
@click.option("--event", "events", multiple=True, shell_complete=suggestions.event_names,
              help="Its events in place of the present ones; repeatable.")  # fmt: skip
@click.option("--add-event", "added", multiple=True, shell_complete=suggestions.event_names,
              help="One more event; repeatable.")  # fmt: skip
@click.option("--remove-event", "removed", multiple=True, shell_complete=suggestions.event_names,
              help="An event that it no longer gets; repeatable.")  # fmt: skip
@click.option("--content-type", type=click.Choice(CONTENT_TYPES), help="The form of the payload.")
@click.option("--insecure-ssl/--verify-ssl", "insecure_ssl", default=None,
              help="Whether the receiver's certificate is not verified.")  # fmt: skip
@delivery_options
@options.configured
def edit(
    configuration: Configuration,
    /,
    hook_id: int,
    url: str | None,
    events: tuple[str, ...],
    added: tuple[str, ...],
    removed: tuple[str, ...],
    content_type: str | None,
    insecure_ssl: bool | None,
    **given: Any,
) -> None:
    """Change a hook. For its delivery options, `default` restores the setting."""
    settings = configuration.settings
    wanted = {"url": url, "content_type": content_type, "insecure_ssl": insecure_ssl}
    changes: dict[str, Any] = {name: one for name, one in wanted.items() if one is not None}
    delivery = _said_options(given)
    if not (changes or delivery or events or added or removed):
        raise click.UsageError("say what to change, such as --timeout 5")

    def apply(db: Connection) -> Row:
        hook = find(db, hook_id)
        if events or added or removed:
            changes["events"] = _changed_events(hook, events, added, removed)
        if delivery:
            changes["options"] = _merged(hook["options"], delivery)
        return hooks.update(db, hook, most=settings.hooks_per_event, **changes)

    with options.opening(settings) as store:
        store.look(find, hook_id)
        if url is not None:
            api_context.validate_callback(settings, url)
        api_context.validate_token_url(settings, delivery)
        changed = store.do(apply)
    said = ", ".join(f"{name}={_shown(value)}" for name, value in changed["options"].items())
    click.echo(f"hook {hook_id}: {', '.join(changed['events'])}; {said or 'as in the settings'}")


def _shown(value: Any) -> str:
    return orjson.dumps(value).decode() if isinstance(value, (dict, list)) else str(value)


def _changed_events(
    hook: Row, events: tuple[str, ...], added: tuple[str, ...], removed: tuple[str, ...]
) -> list[str]:
    wanted = [*(events or hook["events"]), *added]
    return [name for name in wanted if name not in removed]


def _said_options(given: dict[str, Any]) -> dict[str, Any]:
    said = {name: value for name, value in given.items() if value is not None and value != ()}
    return endpoint_options.grouped(said)


def _merged(before: Row, changes: dict[str, Any]) -> Row:
    merged: Row = dict(before)
    for name, value in changes.items():
        former = merged.pop(name, None)
        if name in endpoint_options.GROUPS:
            merged[name] = endpoint_options.combined(former, value)
        elif value not in ("default", ("default",)):
            merged[name] = READERS.get(name, str)(value)
    try:
        return DeliveryOptions.model_validate(merged).model_dump(exclude_none=True)
    except ValidationError as error:
        said = [_said(problem) for problem in error.errors() if _is_about_the_value(problem)]
        raise Invalid("; ".join(said)) from None


def _is_about_the_value(problem: Any) -> bool:
    """Return False if the problem is only that an ordering is no path, or a path is no name."""
    if problem["loc"][0] != "ordering":
        return True
    return problem["type"] != "model_type" and not isinstance(problem["input"], dict)


def _said(problem: Any) -> str:
    name, *rest = problem["loc"]
    if name in endpoint_options.NAMES:
        return f"{name}: {problem['msg']}"  # the input may be secret
    where = f"{name}, number {rest[0] + 1}" if name == "retries" and rest else str(name)
    where = f"{name}, {rest[0]}" if name == "batch" and rest else where
    return f"{where}: {problem['msg']}, not {problem['input']!r}"
