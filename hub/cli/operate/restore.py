"""`tocsin restore`: replaces the database with a backup, and keeps the old database."""

from pathlib import Path
from signal import SIGHUP, SIGINT, SIGTERM

import click

from hub.cli.console import exits, options, output
from hub.cli.console.arguments import PATH
from hub.cli.console.grammar import command
from hub.cli.console.interactive import interrupted_by
from hub.cli.operate.backup import events_in, key_path
from hub.cli.service.audit_actor import entry
from hub.cli.service.configuration import Configuration
from store import clock
from store.backup import restore as restoring
from store.backup.backup import KEY
from store.backup.restore import PreparedBackup
from store.crypto import key_file
from store.crypto.key_file import Key
from store.crypto.vault import Vault
from store.database.opening import is_server_url, make_directory, sqlite_path
from store.database.sqlite import open_files
from store.errors import Missing, Unusable


@command(examples=["tocsin restore /var/backups/tocsin.db"])
@click.argument("file", type=PATH)
@click.option("--key", "key", type=PATH,
              help="The key file of the backup.  [default: FILE.key, if it exists]")  # fmt: skip
@options.configured
def restore(configuration: Configuration, file: Path, key: Path | None) -> None:
    """Replace the database with the backup FILE. The old database is renamed, not deleted.

    Stop hub and worker before. A backup is rejected if it is damaged, if a newer tocsin made it, or
    if no known key decrypts its secrets. If the backup needs a key from --key, the command adds it
    to the key file. Deliveries that were waiting at the time of the backup are made again, even if
    they have arrived since.

    With PostgreSQL, the command restores nothing. It names pg_restore to use instead, and ends with
    exit code 3.
    """
    settings = configuration.settings
    if is_server_url(settings.store):
        output.print_note("the database is on PostgreSQL: use pg_restore with a backup of pg_dump")
        raise click.exceptions.Exit(exits.FIRST)
    if not file.is_file():
        raise Missing(f"there is no backup {file}")
    database = sqlite_path(settings.store, settings.data_dir)
    make_directory(settings.data_dir)
    with (
        interrupted_by(SIGINT, SIGTERM, SIGHUP),
        open_files.exclusive_lock(database),
        restoring.prepare(file, database) as prepared,
    ):
        known, added = _keys(prepared, key_path(settings), _named(file, key))
        if added:
            _add_keys(key_path(settings), known, added)
        vault = Vault([one.value for one in [*known, *added]])
        ids = {"events": prepared.found.events}
        context = click.get_current_context()
        restoring.record_audit_entry(prepared, vault, entry(context, "done", **ids))
        aside = restoring.replace_database(prepared, database, clock.Clock().now())
    _report(prepared, database, aside)


def _named(file: Path, key: Path | None) -> Path | None:
    beside = file.with_name(file.name + KEY)
    return beside if key is None and beside.exists() else key


def _keys(backup: PreparedBackup, path: Path, other: Path | None) -> tuple[list[Key], list[Key]]:
    """Return the current keys, and the keys of `other` that the backup needs beside them.

    Raises Unusable if all these keys together do not decrypt the backup.
    """
    known = key_file.read_keys(path) if path.exists() else []
    if known:
        try:
            restoring.check_keys(backup, Vault([one.value for one in known]))
        except Unusable as error:
            if other is None:
                raise Unusable(f"{error}; name the key file of the backup with --key") from None
        else:
            return known, []
    if other is None:
        raise Unusable(f"there is no key file {path}: name the key file of the backup with --key")
    added = key_file.missing(known, key_file.read_keys(other))
    restoring.check_keys(backup, Vault([one.value for one in [*known, *added]]))
    return known, added


def _add_keys(path: Path, known: list[Key], added: list[Key]) -> None:
    """Add keys to the key file, before the database is replaced.

    The file then decrypts both the old database and the new one, so an interruption does no harm.
    """
    if not known:
        key_file.write_new(path, added)
        click.echo(f"{path}: the key that came with the backup")
        return
    with key_file.lock_key_file(path) as holder:
        holder.replace([*known, *added])
    click.echo(
        f"{path}: also has the key that came with the backup; `tocsin key rotate` removes old keys"
    )


def _report(backup: PreparedBackup, database: Path, aside: Path | None) -> None:
    click.echo(f"{database}: {events_in(backup.found.events, backup.found.latest)}")
    if aside is not None:
        click.echo(f"{aside}: the old database; delete it when you no longer need it")
    click.echo("next: start tocsin, and `tocsin doctor`")
