"""Opening a store: the only module that knows which engines there are."""

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from store.clock import Clock
from store.crypto.key_file import create_key_file, generate
from store.crypto.vault import Vault, open_vault
from store.database import encrypted_columns
from store.database.connection import Engine
from store.database.migrations import migrate, require_current, state
from store.database.notifications import StoreNotifier
from store.database.sqlite import pre_upgrade_backup, private_file
from store.database.sqlite.engine import SqliteEngine
from store.database.sqlite.lost_content import require_content
from store.database.store import Store
from store.errors import Absent, Unprepared, Unusable, from_os_error

DRIVER = "pip install 'psycopg[binary,pool]>=3.2,<4'"
"""The command that installs the PostgreSQL driver into the environment that tocsin runs in."""


def open_store(
    url: str,
    *,
    data_dir: Path,
    key_file: Path | None = None,
    clock: Clock | None = None,
    create: bool = True,
    upgrade: bool = True,
) -> Store:
    """Open the store at `url` and migrate it. If that changes a SQLite file, it is copied first.

    `url` is `sqlite` (a file in `data_dir`), `sqlite:///path` (a file elsewhere) or
    `postgresql://...`. If `create` is False, nothing is created or migrated. If `upgrade` is False,
    an existing database is not migrated. Raises Unusable, with the remedy, if the store cannot be
    opened.
    """
    if create:
        make_directory(data_dir)
    key_path = key_file or data_dir / "secret.key"
    if not is_server_url(url):
        path = sqlite_path(url, data_dir)
        require_content(path)
        if not create and not exists(path):
            raise Absent(f"there is no database at {path}: `tocsin serve` makes one")
    new = create and key_file is None and not exists(key_path)
    vault = Vault([generate().value], key_path) if new else open_vault(key_path, create=False)
    store = Store(_engine(url, data_dir, vault), clock)
    with _close_on_error(store):
        _prepare(store, None if is_server_url(url) else sqlite_path(url, data_dir), create, upgrade)
        if new:
            _make_key(store, key_path)
        elif key_file is None:
            # The setting may name a file that others manage, with the mode that they gave it.
            private_file.restrict_file(key_path)
        store.read_sync(encrypted_columns.verify_key)
    return store


def open_unmigrated(url: str, *, data_dir: Path, vault: Vault, clock: Clock | None = None) -> Store:
    """Open the store as it is: create, migrate and check nothing. Raises Unusable."""
    return Store(_engine(url, data_dir, vault), clock)


def _make_key(store: Store, path: Path) -> None:
    """Create the key file of a new database.

    Raises Unusable if the database holds secrets, because they need their own key. Another process
    that made the database at the same time has made the key before the secrets.
    """
    if store.read_sync(encrypted_columns.has_secrets) and not exists(path):
        raise Unusable(
            f"the key file {path} is missing, and this database holds secrets that only"
            " it can decrypt: restore it from its backup, or set key_file to its path"
        )
    create_key_file(path)


@contextlib.contextmanager
def _close_on_error(store: Store) -> Iterator[None]:
    try:
        yield
    except BaseException:
        store.shut()
        raise


def _prepare(store: Store, path: Path | None, create: bool, upgrade: bool) -> None:
    if path is not None:
        private_file.create(path)
    now = store.clock.now()
    before = None if path is None else partial(pre_upgrade_backup.create_backup, path, now=now)
    # The next transaction uses the same session, because a new one would read the schema again.
    with store.borrow_session() as session:
        if create and (upgrade or state(session, now) is None):
            migrate(session, now, store.engine.words, before)
        else:
            require_current(session, now)
    # The URL may name any file. Its permissions change only after the migration has shown that it
    # is a database.
    if path is not None:
        private_file.restrict(path)


def is_server_url(url: str) -> bool:
    """Return whether the URL names a server and not a file."""
    return url.startswith(("postgresql://", "postgres://"))


def _engine(
    url: str, data_dir: Path, vault: Vault
) -> Callable[[Callable[[], StoreNotifier]], Engine]:
    if not is_server_url(url):
        path = sqlite_path(url, data_dir)
        return lambda notifier: SqliteEngine(path, vault, notifier)
    try:
        from store.database.postgres.engine import PostgresEngine
    except ImportError as error:
        raise Unprepared(f"PostgreSQL needs its driver ({error}): {DRIVER}") from None
    return lambda notifier: PostgresEngine(url, vault, notifier)


def make_directory(data_dir: Path) -> None:
    """Create the data directory, for its owner only, if it is missing. Raises Unusable."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise from_os_error(f"cannot create the data directory {data_dir}", error) from error


def exists(path: Path) -> bool:
    """Return whether a file exists. Raises Unprepared without the right to look."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise from_os_error(f"cannot look into {path.parent}", error) from None
    return True


def sqlite_path(url: str, data_dir: Path) -> Path:
    """Return the file that a SQLite URL names. Raises Unusable for an unknown URL.

    A symbolic link to it is followed. The locks and sockets are beside the file, and every process
    must find the same ones.
    """
    if url == "sqlite":
        return _followed(data_dir / "tocsin.db")
    if url.startswith("sqlite:///") and Path(url.removeprefix("sqlite://")).name:
        return _followed(Path(url.removeprefix("sqlite://")))
    kind = url.split(":")[0]
    raise Unusable(
        f"store = {kind!r} is not known: use sqlite, sqlite:///path/to/file or postgresql://..."
    )


def _followed(path: Path) -> Path:
    # Another path stays as the user has given it. `Path.resolve` fails if links form a circle, and
    # opening the file reports that better. `Path.is_symlink` fails in a folder that is closed.
    linked = os.path.islink(path)  # noqa: PTH114 - it never fails
    return Path(os.path.realpath(path)) if linked else path
