"""`tocsin backup`: a backup of the database in one file, made while the daemon runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGTERM
from typing import Any

import click

from hub.cli.console import exits, options, output
from hub.cli.console.arguments import FILE_OR_DIRECTORY
from hub.cli.console.grammar import command
from hub.cli.console.interactive import interrupted_by
from hub.cli.console.progress import bar
from hub.cli.service.audit_actor import AuditHook
from hub.cli.service.configuration import Configuration, Settings
from store import Store
from store.backup import backup as making
from store.backup.backup import Backup
from store.crypto import owned_files
from store.crypto.vault import open_vault
from store.database.opening import is_server_url, open_unmigrated, sqlite_path
from store.errors import Outdated, Unavailable, Unusable
from worker.imports.directories import ImportDirectories


@command(examples=["tocsin backup /var/backups/tocsin.db"])
@click.argument("file", required=False, type=FILE_OR_DIRECTORY)
@click.option("--with-key", is_flag=True,
              help="Also copy the key, to FILE.key, for its owner only.")  # fmt: skip
@click.option(
    "--compress",
    is_flag=True,
    help="Compress with zstd. If FILE is no directory, its name must end in .zst; with this ending,"
    " the backup is always compressed.",
)
@click.option("--keep", type=click.IntRange(1), metavar="NUMBER",
              help="If FILE is a directory or left out: remove all but this many newest backups"
              " there, and their keys.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace FILE, and FILE.key, if they exist.")
@options.as_json
@options.configured
def backup(
    configuration: Configuration,
    file: Path | None,
    with_key: bool,
    compress: bool,
    keep: int | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Back up the database into FILE, and check the backup.

    The daemon keeps working meanwhile. The backup has everything that was accepted before it began.
    If FILE is a directory, or left out (`backups` in the data directory), the backup's name is the
    time. The backup does not contain the key, and without the key its secrets cannot be decrypted:
    keep a copy of the key in another place, or use --with-key. The backup does not contain imported
    repositories either: they are directories in the data directory.

    With PostgreSQL, the command makes no backup. It prints the command of pg_dump to use instead,
    and ends with exit code 3.
    """
    settings = configuration.settings
    if is_server_url(settings.store):
        _leave_to_postgres("tocsin.dump" if file is None else str(file))
    database = sqlite_path(settings.store, settings.data_dir)
    with _opening(settings) as store:
        if keep is not None and file is not None and not file.is_dir():
            kind = "a file" if file.exists() else "missing: make it first"
            raise click.UsageError(f"--keep needs a directory as FILE, and {file} is {kind}")
        target = _target(file, settings, database, compress, store.clock.now())
        with interrupted_by(SIGINT, SIGTERM, SIGHUP), bar("copying") as on_progress:
            made = making.create_backup(
                database,
                target,
                packed=target.suffix == making.PACKED,
                key=key_path(settings) if with_key else None,
                overwrite=overwrite,
                protected=[key_path(settings)],
                on_progress=on_progress,
            )
        gone = [] if keep is None else making.prune_backups(target, database, keep)
        if store.audit_hook is not None:
            _audit(store, made)
    _report(made, gone, settings, as_json=as_json)
    repositories = ImportDirectories(settings.data_dir).stores_folder
    if repositories.is_dir() and any(repositories.iterdir()):
        output.print_note(
            f"imported repositories are not in the backup: copy the directory {repositories} too"
        )


@contextmanager
def _opening(settings: Settings) -> Iterator[Store]:
    """Open the store as it is. One that an older tocsin has written has no audit hook."""
    try:
        store = options.opened(settings, create=False)
    except Outdated:
        vault = open_vault(key_path(settings), create=False)
        store = open_unmigrated(settings.store, data_dir=settings.data_dir, vault=vault)
        output.print_note(
            "an older tocsin has written the database: it is backed up as it is, and the audit log"
            " gets no entry"
        )
    try:
        yield store
    finally:
        store.shut()


def _audit(store: Store, made: Backup) -> None:
    """Write the entry of the backup. The backup stays if the disk of the database is full."""
    assert isinstance(store.audit_hook, AuditHook), "the store was opened for this command"
    store.audit_hook.ids.update(file=output.plain(made.path), bytes=made.size, events=made.events)
    try:
        store.write_sync(lambda db: None)
    except Unavailable as error:
        output.print_note(f"the audit log has no entry of this backup: {error}")


def key_path(settings: Settings) -> Path:
    return settings.key_file or settings.data_dir / "secret.key"


def _target(
    file: Path | None, settings: Settings, database: Path, compress: bool, now: int
) -> Path:
    folder = settings.data_dir / "backups" if file is None else file
    if file is None and not folder.exists():
        try:
            owned_files.make_folder(folder)
        except OSError as error:
            raise Unusable(f"cannot make {folder}: {error.strerror}") from None
    if folder.is_dir():
        return folder / making.default_name(database, now, packed=compress)
    if compress and folder.suffix != making.PACKED:
        raise click.UsageError(
            f"the name of a compressed backup needs its ending: {folder}{making.PACKED}"
        )
    return folder


def _report(made: Backup, gone: list[Path], settings: Settings, *, as_json: bool) -> None:
    if as_json:
        click.echo(output.dumps(_shape(made, gone)))
        return
    click.echo(
        f"{made.path}: {made.size / 1_000_000:.1f} MB in {made.seconds:.1f} s,"
        f" {events_in(made.events, made.latest)}; checked, not damaged"
    )
    for path in gone:
        click.echo(f"removed {path}")
    if made.key is not None:
        click.echo(f"{made.key}: the key; with both files, anybody can read every secret")
    else:
        output.print_note(
            f"the key is not in the backup: keep a copy of {key_path(settings)} elsewhere."
            " Without it, stored secrets cannot be decrypted (--with-key copies it too)"
        )


def events_in(many: int, latest: int | None) -> str:
    """Return the number of a backup's events, and the time of the last one, if there is one."""
    if latest is None:
        return f"{many} events"
    return f"{many} events, the last of {output.plain(output.format_time(latest))}"


def _shape(made: Backup, gone: list[Path]) -> dict[str, Any]:
    return {
        "file": str(made.path),
        "bytes": made.size,
        "seconds": round(made.seconds, 3),
        "events": made.events,
        "latest_event_at": output.format_time(made.latest),
        "key": None if made.key is None else str(made.key),
        "removed": [str(path) for path in gone],
    }


def _leave_to_postgres(file: str) -> None:
    output.print_note(
        "the database is on PostgreSQL: its own tool makes a consistent backup while tocsin runs,"
        " with the URL of the setting `store`:\n\n"
        f"  pg_dump --format=custom --file={file} URL\n\n"
        "and pg_restore restores it. Keep a copy of the key file too: without it, stored secrets"
        " cannot be decrypted."
    )
    raise click.exceptions.Exit(exits.FIRST)
