"""`tocsin key`: the key that encrypts stored secrets, and its rotation while tocsin runs."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from hub.cli.console import exits, options, output
from hub.cli.console.arguments import PATH
from hub.cli.console.exclusions import Exclusion
from hub.cli.console.grammar import noun
from hub.cli.operate import key_holders
from hub.cli.operate.backup import key_path
from hub.cli.service.audit_actor import entry
from hub.cli.service.configuration import Settings, configure
from hub.cli.service.daemon_record import effective
from store import Store, clock
from store.audit import audit_log
from store.backup import key_rotation
from store.backup.key_rotation import RotationResult
from store.crypto import key_file
from store.crypto.key_file import NEXT, Key, KeyFileLock
from store.database.opening import is_server_url
from store.errors import Unusable

# Seconds until PostgreSQL has received what another process encrypted a moment ago.
SETTLING = 1.0


@noun(examples=["tocsin key list", "tocsin key rotate --only-here"])
def key() -> None:
    """List the keys that encrypt stored secrets, or make a new one."""


KEY_FILE = click.option(
    "--key-file", type=PATH, help="The key file.  [default: the setting key_file]"
)


def _settings(given: dict[str, Any], config: Path | None) -> Settings:
    """Return the settings of the running daemon, or this command's own if no daemon runs.

    A key file that this command's settings name replaces the daemon's key file. The daemon's may be
    a copy from systemd (LoadCredential=), which cannot be changed.
    """
    here = configure(given, config)
    there = effective(here).settings
    if "key_file" not in here.origins:
        return there
    return there.model_copy(update={"key_file": here.settings.key_file})


@key.command("list", examples=["tocsin key list"])
@KEY_FILE
@options.CONFIG
@options.DATA_DIR
@options.STORE
@options.as_json
def list_keys(config: Path | None, store_url: str | None, as_json: bool, **given: Any) -> None:
    """List the keys by their fingerprints. The keys themselves are not shown."""
    settings = _settings({**given, "store": store_url}, config)
    rows = [
        {
            "key": one.fingerprint,
            "use": "decrypts" if at or one.decrypt_only else "encrypts and decrypts",
            "note": one.note,
        }
        for at, one in enumerate(key_file.read_keys(key_path(settings)))
    ]
    output.print_rows(rows, as_json=as_json, empty="no keys: `tocsin serve` makes one")


@key.command(
    examples=["tocsin key rotate --only-here"],
    exclusions=[
        Exclusion("--everywhere", ["--only-here"], "say whether other machines use this database")
    ],
)
@click.option("--everywhere", is_flag=True,
              help="Confirm that every machine has the current key file, and go on.")  # fmt: skip
@click.option("--only-here", is_flag=True,
              help="Confirm that no other machine uses this database.")  # fmt: skip
@KEY_FILE
@options.CONFIG
@options.DATA_DIR
@options.STORE
def rotate(
    everywhere: bool, only_here: bool, config: Path | None, store_url: str | None, **given: Any
) -> None:
    """Encrypt every secret with a new key, and delete the old key.

    At first the new key only decrypts. Once all processes have it, it encrypts, and the secrets of
    the old key are encrypted again, a few at a time. Then the old key is deleted. Processes that
    read the key file itself notice each change. If systemd gave a service a copy, or other machines
    have one, the command stops, says what to do, and ends with exit code 3. Run the same command
    again to go on, also after an interruption.
    """
    settings = _settings({**given, "store": store_url}, config)
    distant = is_server_url(settings.store) and not only_here
    with (
        options.opening(settings) as store,
        key_file.lock_key_file(key_path(settings)) as holder,
        _hinted(),
    ):
        _Rotation(store, holder, settings, distant, everywhere).run()


@contextlib.contextmanager
def _hinted() -> Iterator[None]:
    try:
        yield
    except Unusable as error:
        if isinstance(error.__cause__, OSError):
            raise Unusable(f"{error}; {HINT}") from None
        raise


HINT = (
    "if systemd passes it to the service (LoadCredential=), use --key-file to name the file that"
    " systemd loads"
)


class _Rotation:
    """The steps of a rotation. The key file says which step is next."""

    def __init__(
        self, store: Store, holder: KeyFileLock, settings: Settings, distant: bool, everywhere: bool
    ) -> None:
        self._store = store
        self._holder = holder
        self._settings = settings
        self._distant = distant
        # Whether all machines have the current key file. A change of the file resets it.
        self._everywhere = everywhere

    def run(self) -> None:
        """Do all steps that can be done now."""
        keys = key_file.read_keys(self._holder.path)
        # Each step adds its own entry to the audit log.
        self._store.audit_hook = None
        if len(keys) == 1:
            keys = self._announce(keys)
        announced = next((one for one in keys if one.decrypt_only), None)
        if announced is not None:
            self._wait_for(announced, keys, first=False)
            keys = self._promote(announced, keys)
        renewed = self._renew()
        self._record("sealed anew", keys[0], renewed=renewed.many, closed=renewed.closed)
        if renewed.closed:
            raise Unusable(
                f"no key decrypts {renewed.closed} secrets: they stay unchanged, and the older keys"
                " stay too. Set those secrets again, then run the same command"
            )
        self._wait_for(keys[0], keys, first=True)
        # Other processes may have encrypted with the old key until they had the new one.
        if self._renew().closed == 0:
            self._forget(keys)

    def _announce(self, keys: list[Key]) -> list[Key]:
        new = key_file.generate(f"{NEXT} since {_today()}")
        self._holder.replace([*keys, new])
        self._record("announced", new)
        click.echo(f"made the key {new.fingerprint}; for now it only decrypts")
        return [*keys, new]

    def _promote(self, new: Key, keys: list[Key]) -> list[Key]:
        sealing = Key(new.value, f"since {_today()}")
        keys = [sealing, *(one for one in keys if one.value != new.value)]
        self._holder.replace(keys)
        self._everywhere = False
        click.echo(f"the key {new.fingerprint} encrypts from now on")
        if is_server_url(self._settings.store):
            # After this time, the database has the secrets that were just encrypted with the old
            # key.
            time.sleep(SETTLING)
        return keys

    def _renew(self) -> RotationResult:
        total = RotationResult()
        for one, done in key_rotation.rotate_secrets(self._store):
            total.add(done)
            if done.many or done.closed:
                lost = f", no key decrypts {done.closed}" if done.closed else ""
                click.echo(f"{one}: {done.many} encrypted again{lost}")
        return total

    def _record(self, step: str, key: Key, **more: int) -> None:
        ids = {"key": key.fingerprint, **more}
        self._store.write_sync(audit_log.add, entry(click.get_current_context(), step, **ids))

    def _forget(self, keys: list[Key]) -> None:
        self._holder.replace(keys[:1])
        self._record("finished", keys[0])
        gone = ", ".join(one.fingerprint for one in keys[1:])
        if keys[1:]:
            click.echo(f"deleted the key {gone}")
        output.print_note(
            "earlier backups need the old key: keep it with them, or make a"
            " new one now with `tocsin backup`"
        )
        if self._distant:
            output.print_note(f"copy {self._holder.path} to every machine once more")

    def _wait_for(self, key: Key, keys: list[Key], *, first: bool) -> None:
        """Go on only if every process has the current key file. Otherwise end the command."""
        does = "encrypt with" if first else "have"
        services = key_holders.without(key, keys, first=first)
        if services:
            self._stop(
                f"{', '.join(services)} does not {does} the key {key.fingerprint} yet: systemd"
                f" gave it a copy at its start: `systemctl restart {' '.join(services)}`"
            )
        if self._distant and not self._everywhere:
            self._stop(
                f"the other machines do not {does} the key {key.fingerprint} yet: copy"
                f" {self._holder.path} to all of them and use --everywhere (or, if there are"
                " none, --only-here)"
            )

    def _stop(self, message: str) -> None:
        click.echo(f"{message}; then run the same command again")
        raise click.exceptions.Exit(exits.FIRST)


def _today() -> str:
    return clock.iso(clock.Clock().now())
