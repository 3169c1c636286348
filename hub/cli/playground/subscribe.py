"""`tocsin subscribe`: a subscription to a repository's events."""

import click

from hub.cli.console import options, output, suggestions
from hub.cli.console.arguments import FullNameType
from hub.cli.console.event_type import EventType
from hub.cli.console.grammar import command
from hub.cli.playground import subscribing
from hub.cli.playground.subscribing import SubscriptionOptions
from hub.cli.service.configuration import Configuration
from hub.cli.traffic import api_context
from store import Row
from store.hooks.event_names import WILDCARD


@command(
    examples=[
        "tocsin subscribe ada/bell-tower https://receiver.example/hook",
        "tocsin subscribe ada/bell-tower https://receiver.example/hook --event push",
    ]
)
@click.argument("full_name", metavar="OWNER/NAME", type=FullNameType())
@click.argument("url")
@click.option("--event", "events", multiple=True, type=EventType(),
              shell_complete=suggestions.event_names,
              help="Only this event; repeatable.  [default: every event]")  # fmt: skip
@click.option("--form", is_flag=True, help="Deliver a form with the field payload, and not JSON.")
@click.option(
    "--secret",
    help="The secret for signatures; `-` reads standard input.  [default: for a new hook, a random"
    " one, which is shown]",
)
@options.as_json
@options.configured
def subscribe(
    configuration: Configuration,
    full_name: tuple[str, str],
    url: str,
    events: tuple[str, ...],
    form: bool,
    secret: str | None,
    as_json: bool,
) -> None:
    """Deliver the events of a repository to URL, as a request to /hub does.

    If the repository has a hook with this URL and the event already, that hook changes and becomes
    active. It then delivers JSON, or with --form a form. Its secret stays unless you give another
    one. An empty secret means no signatures. Another event is added to the hook with this URL,
    format and secret. If there is none, a new hook is made. Each hook is printed.
    """
    settings = configuration.settings
    api_context.validate_callback(settings, url)
    wanted = SubscriptionOptions(
        full_name, url, events or (WILDCARD,), not form, options.given_secret(secret)
    )
    with options.opening(settings) as store:
        made = store.write_sync(subscribing.subscribe, settings, wanted)
    for hook, generated in made:
        _report(hook, "/".join(full_name), generated, as_json=as_json)


def _report(hook: Row, repository: str, generated: str | None, *, as_json: bool) -> None:
    if as_json:
        shape = {
            "hook": hook["id"],
            "repository": repository,
            "url": hook["url"],
            "events": hook["events"],
            "secret": generated,
        }
        click.echo(output.dumps(shape))
        return
    events = "every event" if WILDCARD in hook["events"] else ", ".join(hook["events"])
    output.print_note(f"hook {hook['id']} delivers {events} of {repository} to {hook['url']}")
    if generated is not None:
        options.show_secret(generated, "the hook's")
