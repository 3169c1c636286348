"""`tocsin hook add` and `tocsin hook edit`: a hook's address, events, secret and options."""

from typing import Any

import click

from hub.cli.console import options, output, suggestions
from hub.cli.console.arguments import FullNameType
from hub.cli.console.event_type import EventType
from hub.cli.console.grammar import command
from hub.cli.service.configuration import Configuration
from hub.cli.traffic import api_context, delivery_options, hook_place
from hub.cli.traffic.hook import HOOK_ID, find
from hub.ingest import hook_events
from store import Connection, Row
from store.errors import Invalid
from store.hooks import hooks
from store.hooks.event_names import WILDCARD
from store.hooks.hook_targets import HookTarget

CONTENT_TYPES = ("json", "form")
NEW_HOOK = options.together(
    click.option(
        "--secret",
        help="Its secret; `-` reads standard input.  [default: a random one, which is shown]",
    ),
    click.option("--content-type", type=click.Choice(CONTENT_TYPES), default="json",
                 show_default=True, help="The form of the payload."),
    click.option("--insecure-ssl", is_flag=True, help="Do not verify the receiver's certificate."),
)  # fmt: skip
"""The options of all commands that make a hook."""


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
              type=EventType(),
              shell_complete=suggestions.event_names,
              help="An event, or '*' for all; repeatable.")  # fmt: skip
@NEW_HOOK
@options.together(*delivery_options.OPTIONS)
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

    Name a repository, or give --org or --system. A hook of an organization covers the events of all
    its repositories, and a hook of the whole installation all events. --event chooses among these.
    The hook receives a ping. If the URL is `pull:` and a name, the receiver fetches the deliveries.
    Delivery options that you leave out follow the settings, or have the defaults shown below.
    """
    full_name, url = _place_and_url(words, around=organization is not None or system)
    settings = configuration.settings
    value, is_random = options.new_secret(secret)
    delivery = delivery_options.merged({}, delivery_options.given_of(given))

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
        store.read_sync(target)
        api_context.validate_callback(settings, url)
        api_context.validate_token_url(settings, delivery)
        made = store.write_sync(make)
    named = organization or ("the whole installation" if system else words[0])
    output.print_note(f"made hook {made['id']} of {named}, and sent a ping to it")
    if is_random:
        options.show_secret(value)


def _place_and_url(words: tuple[str, ...], *, around: bool) -> tuple[tuple[str, str] | None, str]:
    """Return the repository, if the words begin with one, and the URL.

    With `around`, --org or --system names the target, and the only word is the URL.
    """
    if len(words) != (1 if around else 2):
        raise click.UsageError("name a repository (OWNER/NAME), --org or --system, and then a URL")
    context = click.get_current_context()
    return None if around else FullNameType().convert(words[0], None, context), words[-1]


@command(
    examples=["tocsin hook edit 1 --rate 10", "tocsin hook edit 1 --event push --event issues"]
)
@HOOK_ID
@click.option("--url", help="Where its deliveries go.")
@click.option("--event", "events", multiple=True, type=EventType(),
              shell_complete=suggestions.event_names,
              help="Its events in place of the present ones; repeatable.")  # fmt: skip
@click.option("--add-event", "added", multiple=True, type=EventType(),
              shell_complete=suggestions.event_names,
              help="One more event; repeatable.")  # fmt: skip
@click.option("--remove-event", "removed", multiple=True, shell_complete=suggestions.event_names,
              help="An event that it no longer gets; repeatable.")  # fmt: skip
@click.option("--content-type", type=click.Choice(CONTENT_TYPES), help="The form of the payload.")
@click.option("--insecure-ssl/--verify-ssl", "insecure_ssl", default=None,
              help="Accept any certificate of the receiver, or verify it.")  # fmt: skip
@options.together(*delivery_options.OPTIONS)
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
    """Change a hook. For its delivery options, `default` restores the setting.

    If the hub paused the hook because its options could not be used, new delivery options end the
    pause. `tocsin hook rotate-secret` changes its secret.
    """
    settings = configuration.settings
    wanted = {"url": url, "content_type": content_type, "insecure_ssl": insecure_ssl}
    changes: dict[str, Any] = {name: one for name, one in wanted.items() if one is not None}
    delivery = delivery_options.given_of(given)
    if not (changes or delivery or events or added or removed):
        raise click.UsageError("say what to change, such as --timeout 5")

    def apply(db: Connection) -> Row:
        hook = hooks.lock(db, find(db, hook_id))
        if events or added or removed:
            changes["events"] = _changed_events(hook, events, added, removed)
        if delivery:
            changes["options"] = delivery_options.merged(hook["options"], delivery)
        return hooks.update(db, hook, most=settings.hooks_per_event, **changes)

    with options.opening(settings) as store:
        store.read_sync(find, hook_id)
        if url is not None:
            api_context.validate_callback(settings, url)
        api_context.validate_token_url(settings, delivery)
        changed = store.write_sync(apply)
    said = output.plain(changed["options"]) if changed["options"] else "as in the settings"
    click.echo(f"hook {hook_id}: {', '.join(changed['events'])}; {said}")


def _changed_events(
    hook: Row, events: tuple[str, ...], added: tuple[str, ...], removed: tuple[str, ...]
) -> list[str]:
    """Return the events after the change.

    Raises Invalid if an event to remove is to be added, too, or if the hook gets it with `*`.
    """
    present = events or hook["events"]
    for name in removed:
        if name in events or name in added:
            raise Invalid(f"the event {name!r} cannot be both added and removed")
        if name not in present and WILDCARD in present:
            raise Invalid(f"hook {hook['id']} gets {name!r} with '*', and not by its name")
    wanted = [*present, *added]
    return [name for name in wanted if name not in removed]
