"""`tocsin doctor`: a check of an installation, with remedies."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from hub import admin_settings
from hub.admin.health import DAMAGED
from hub.cli.console import options, output
from hub.cli.console.grammar import command
from hub.cli.operate import doctor_data as data
from hub.cli.operate import doctor_leftovers as leftovers
from hub.cli.operate import doctor_machine as machine
from hub.cli.operate.backup import key_path
from hub.cli.operate.diagnosis import BAD, LEVELS, Finding, bad, examine, good, warning, worst
from hub.cli.service import tls
from hub.cli.service.configuration import (
    Configuration,
    Settings,
    configure,
    unknown_variables,
)
from hub.cli.service.daemon_record import ORIGIN, damage_met, effective
from hub.cli.service.setting_list import as_toml
from hub.cli.service.start_errors import start_errors
from store import Store
from store.clock import Clock
from store.crypto import key_file
from store.crypto.vault import Vault
from store.database.opening import exists, is_server_url, open_unmigrated, sqlite_path
from store.errors import StoreError, Unusable

ANY = ("0.0.0.0", "::")  # noqa: S104 - they are compared
"""The hosts that mean all addresses of this machine."""


@command(examples=["tocsin doctor"])
@click.option(
    "--thorough",
    is_flag=True,
    help="Check the whole database, also if that takes more than 30 seconds.",
)
@options.as_json
@options.CONFIG
@options.DATA_DIR
@options.STORE
def doctor(
    thorough: bool, as_json: bool, config: Path | None, store_url: str | None, **given: Any
) -> None:
    """Check this installation, running or not, and suggest remedies. Nothing is changed.

    The exit code is 0 if all is well, 1 if there are warnings, and 2 if something is bad.
    """
    findings = list(_examined({**given, "store": store_url}, config, thorough))
    code = worst(findings)
    if as_json:
        click.echo(output.dumps({"state": LEVELS[code], "findings": [*map(asdict, findings)]}))
    else:
        _show(findings)
    raise click.exceptions.Exit(code)


def _show(findings: Iterable[Finding]) -> None:
    for one in findings:
        click.echo(f"{one.level:8} {one.about:12} {output.printable(one.said)}")
        if one.remedy:
            click.echo(f"{'':21} -> {output.printable(one.remedy)}")


def _examined(given: dict[str, Any], config: Path | None, thorough: bool) -> Iterator[Finding]:
    try:
        here = configure(given, config)
        configuration = effective(here)
        settings = configuration.settings
    except Unusable as error:
        yield bad("settings", str(error), "correct them, then run `tocsin doctor` again")
        return
    yield from examine("settings", lambda: _settings(settings))
    yield from _differences(here, configuration)
    if not exists(settings.data_dir):
        said = f"there is no data directory {settings.data_dir}"
        yield bad("settings", said, "name it with --data-dir, or start tocsin, which makes it")
        return
    database = (
        None if is_server_url(settings.store) else sqlite_path(settings.store, settings.data_dir)
    )
    yield from _machine(settings, database)
    for damage in damage_met(settings.data_dir):
        yield bad("database", f"the running daemon has met damage: {damage}", DAMAGED)
    if database is not None:
        found = list(examine("database", lambda: data.check_file(database, thoroughly=thorough)))
        yield from found
        if any(one.level == BAD for one in found):
            return
    yield from _data(settings, database)


def _differences(here: Configuration, there: Configuration) -> Iterator[Finding]:
    names = [name for name, origin in there.origins.items() if origin == ORIGIN]
    for name in sorted(names):
        mine, theirs = (as_toml(_shown(one.settings, name)) for one in (here, there))
        said = f"the daemon runs with {name} = {theirs}, and this shell has {mine}"
        yield good("settings", f"{said}: the following checks use the daemon's")


def _shown(settings: Settings, name: str) -> Any:
    value = settings.model_dump(mode="json")[name]
    return "" if value is None else value


def _settings(settings: Settings) -> list[Finding]:
    return list(_wrong_settings(settings)) or [good("settings", "the settings are valid")]


def _wrong_settings(settings: Settings) -> Iterator[Finding]:
    about = "settings"
    for name in unknown_variables():
        yield warning(about, f"{name} is no setting", f"unset {name}, or correct its name")
    if settings.base_url is None and settings.host in ANY:
        said = f"links begin with {settings.root()}, which clients cannot open"
        yield warning(about, said, "set base_url to the URL that clients use")
    errors = list(start_errors(settings))
    for error in errors:
        yield bad(about, error, "correct the setting or its file: tocsin cannot start")
    if not errors:
        for complaint in tls.problems(settings, Clock().now()):
            yield warning(about, complaint, "correct the setting, or get another certificate")
    if _is_taken(settings):
        said = "admin_bind is the address on which the API is served"
        yield warning(about, said, "choose another port; only a worker alone can start like this")


def _is_taken(settings: Settings) -> bool:
    """Return whether the listener for administrators would need the API's port."""
    if settings.admin_bind is None or settings.port == 0:
        return False
    match admin_settings.place(settings.admin_bind):
        case host, port if port == settings.port:
            return host == settings.host or host in ANY or settings.host in ANY
    return False


def _machine(settings: Settings, database: Path | None) -> Iterator[Finding]:
    key = key_path(settings)
    yield from examine("permissions", lambda: machine.check_permissions(settings, database, key))
    yield from examine("clock", lambda: machine.check_clocks(settings))
    yield from examine("disk", lambda: machine.check_disk(settings, database))
    yield from examine("descriptors", lambda: machine.check_descriptors(settings))
    yield from examine("programs", lambda: machine.check_programs(settings))
    yield from examine("leftovers", lambda: leftovers.check_key_leftovers(key))
    if database is not None and database.parent.is_dir():
        yield from examine("leftovers", lambda: leftovers.check_restores(database))


def _data(settings: Settings, database: Path | None) -> Iterator[Finding]:
    path = key_path(settings)
    try:
        keys = key_file.read_keys(path)
    except Unusable as error:
        yield bad("key", str(error), f"restore {path} from a copy")
        keys = [key_file.generate()]
    try:
        vault = Vault([one.value for one in keys])
        opened = open_unmigrated(settings.store, data_dir=settings.data_dir, vault=vault)
    except StoreError as error:
        yield bad("database", str(error), "correct that first, then run `tocsin doctor` again")
        return
    with contextlib.ExitStack() as stack:
        stack.callback(opened.shut)
        found = list(examine("database", lambda: data.check_schema(opened)))
        yield from found
        if not found:
            yield from _store(opened, settings, database)


def _store(store: Store, settings: Settings, database: Path | None) -> Iterator[Finding]:
    from hub.cli.operate.doctor_callbacks import check_callbacks

    path = key_path(settings)
    if path.exists():
        yield from examine("key", lambda: data.check_key(store, path))
    yield from examine("clock", lambda: data.check_history(store))
    yield from examine("deliveries", lambda: data.check_work(store, settings, database))
    yield from examine("jobs", lambda: data.check_jobs(store))
    yield from examine("mail", lambda: data.check_mails(store))
    yield from examine("state", lambda: data.check_state(store, settings))
    yield from examine("hooks", lambda: data.check_pauses(store))
    yield from examine("filters", lambda: data.check_filters(store))
    yield from examine("callbacks", lambda: check_callbacks(store, settings))
    embedded = database is not None
    yield from examine("backup", lambda: data.check_backups(store, embedded=embedded))
    if database is not None:
        beside = partial(leftovers.check_backup_leftovers, store, settings, database)
        yield from examine("leftovers", beside)
