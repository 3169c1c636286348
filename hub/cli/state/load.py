"""`tocsin load`: applies a state document to the installation."""

from collections.abc import Iterator
from importlib.resources import files
from typing import BinaryIO

import click

from hub.cli.console import options
from hub.cli.console.arguments import InputFile
from hub.cli.console.grammar import command
from hub.cli.service.configuration import Configuration, Settings
from hub.cli.service.expired import report_all_expired, report_expired
from hub.cli.state import models
from hub.cli.state.changes import StateChange, described_place
from hub.cli.state.load_report import LoadReport
from hub.cli.state.places import located
from store import Connection, Store
from store.errors import Invalid
from store.hooks import pull_urls
from worker.http.addresses import Refused
from worker.http.callback_guard import running_guard
from worker.http.guard import Guard


def _example(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        click.echo(example(), nl=False)
        context.exit()


def example() -> str:
    """Return an example document with every section and every field."""
    return files("hub.cli.state").joinpath("example.yaml").read_text(encoding="utf-8")


@command(examples=["tocsin load state.yaml", "tocsin load --init state.yaml"])
@click.argument("file", type=InputFile("rb"))
@click.option(
    "--example",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_example,
    help="Print an example document with every key, and do nothing else.",
)
@click.option("--init", is_flag=True, help="Create the installation if there is none.")
@options.as_json
@options.configured
def load(configuration: Configuration, file: BinaryIO, init: bool, as_json: bool) -> None:
    """Apply the state document FILE, YAML or JSON: all or nothing. `-` is standard input.

    Loading it again changes nothing, and things that it does not mention stay. A token without a
    value and an app without a secret get random ones, which are shown once, before anything is
    stored. If the command then fails, they may not be valid.
    """
    text, report = "", LoadReport(as_json=as_json)
    try:
        text = _text(file)
        changes = _changes(configuration.settings, text, report, init=init)
    except Invalid as error:
        name = getattr(file, "name", "<stdin>").replace("<stdin>", "standard input")
        raise Invalid(located(name, text, str(error))) from None
    report.finish(changes)


def _changes(settings: Settings, text: str, report: LoadReport, *, init: bool) -> list[StateChange]:
    wanted = models.read(text)
    _check_by_settings(wanted, settings)
    store = options.opened(settings, create=init)
    try:
        for user in wanted.users:
            user.hash_password(store)
        report_all_expired(store, settings)
        return store.write_sync(lambda db: _apply(db, wanted, store, settings, report))
    finally:
        store.shut()


def _apply(
    db: Connection,
    wanted: models.StateDocument,
    store: Store,
    settings: Settings,
    report: LoadReport,
) -> list[StateChange]:
    report_expired(db, settings)
    changes = wanted.apply(db)
    if any(each.kind == "usage" and each.outcome != "unchanged" for each in changes):
        # Imported here, because few documents have usage.
        from hub.cli.operate import job

        job.ask(db, job.table_of(store, settings), "reports")
    report.show_secrets(changes)
    return changes


def _text(file: BinaryIO) -> str:
    # This is enough to exceed the limit, because a character has at most four bytes.
    data = file.read(4 * models.LARGEST + 1)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(f"the document is not UTF-8: {error.reason}") from None


def _check_by_settings(wanted: models.StateDocument, settings: Settings) -> None:
    for hook in wanted.hooks:
        hook.limit(settings.hooks_per_event)
    for installation in wanted.installations:
        installation.emit_with(settings)
    with running_guard(settings) as guard:
        for place, url in _urls(wanted):
            with described_place(place):
                _check_url(guard, url)


def _check_url(guard: Guard, url: str) -> None:
    if pull_urls.is_pull(url):
        pull_urls.check(url)
        return
    try:
        guard.endpoint(url)
    except Refused as error:
        raise Invalid(str(error)) from None


def _urls(wanted: models.StateDocument) -> Iterator[tuple[str, str]]:
    """Return the places and the URLs of all hooks in the document."""
    for number, hook in enumerate(wanted.hooks):
        yield f"hooks[{number}].url", hook.url
    for number, app in enumerate(wanted.apps):
        if app.hook is not None:
            yield f"apps[{number}].hook.url", app.hook.url
