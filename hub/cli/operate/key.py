"""`tocsin key`: exchanges the key that seals stored secrets, while all goes on."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from hub.cli.console import exits, options, output
from hub.cli.operate import key_holders
from hub.cli.operate.backup import key_path
from hub.cli.service.audit_actor import entry
from hub.cli.service.configuration import Settings, configure
from store import Store, clock
from store.audit import audit_log
from store.backup import key_rotation
from store.backup.key_rotation import RotationResult
from store.crypto import key_file
from store.crypto.key_file import NEXT, Key, KeyFileLock
from store.database.opening import is_server_url
from store.errors import Unusable

# Seconds.
SETTLING = 1.0


@click.group()
def key() -> None:
    """Exchange the key that seals stored secrets."""


@key.command()
@click.option("--everywhere", is_flag=True,
              help="Every machine has the key file as it is now: go on.")  # fmt: skip
@click.option("--only-here", is_flag=True,
              help="There is no other machine that works on this database.")  # fmt: skip
@click.option("--key-file", type=click.Path(path_type=Path), help="The key file.")
@options.CONFIG
@options.DATA_DIR
@options.STORE
def rotate(
    everywhere: bool, only_here: bool, config: Path | None, store_url: str | None, **given: Any
) -> None:
    """Make a new key, seal every secret anew with it, and forget the old one.

    A new key only opens at first; once all who work on the database have it, it seals, and what the
    old one has sealed is sealed anew, a few values at a time; then the old one goes. Processes that
    read the key file itself notice by themselves. Where systemd has given a service a copy, or
    other machines have one, this stops and says what is to be done (exit code 3); the same command
    then goes on, and so it does after an interruption.
    """
    settings = configure({**given, "store": store_url}, config).settings
    distant = is_server_url(settings.store) and not only_here
    store = options.opened(settings, create=False)
    try:
        with key_file.lock_key_file(key_path(settings)) as holder, _hinted():
            _Rotation(store, holder, settings, distant, everywhere).run()
    finally:
        store.shut()


@contextlib.contextmanager
def _hinted() -> Iterator[None]:
    try:
        yield
    except Unusable as error:
        if isinstance(error.__cause__, OSError):
            raise Unusable(f"{error}; {HINT}") from None
        raise


HINT = (
    "where systemd gives it to the service (LoadCredential=), --key-file names the file that it"
    " is loaded from"
)


class _Rotation:
    """The steps of a rotation; which is the next the key file says."""

    def __init__(
        self, store: Store, holder: KeyFileLock, settings: Settings, distant: bool, everywhere: bool
    ) -> None:
        self._store = store
        self._holder = holder
        self._settings = settings
        self._distant = distant
        # Said of the file as it is now, and of no later one.
        self._everywhere = everywhere

    def run(self) -> None:
        """As many steps as can be done now."""
        keys = key_file.read_keys(self._holder.path)
        # Each step is recorded by itself.
        self._store.audit_hook = None
        if len(keys) == 1:
            keys = self._announce(keys)
        announced = next((one for one in keys if one.decrypt_only), None)
        if announced is not None:
            self._wait_for(announced, keys, first=False)
            keys = self._promote(announced, keys)
        renewed = self._renew(keys[0])
        self._record("sealed anew", keys[0], renewed=renewed.many, closed=renewed.closed)
        if renewed.closed:
            raise Unusable(
                f"{renewed.closed} secrets open with no key, and stay as they are: the older keys"
                " stay, too. Set those secrets anew, then go on with the same command"
            )
        self._wait_for(keys[0], keys, first=True)
        # What others have sealed until all had the new key.
        if self._renew(keys[0]).closed == 0:
            self._forget(keys)

    def _announce(self, keys: list[Key]) -> list[Key]:
        new = key_file.generate(f"{NEXT} since {_today()}")
        self._holder.replace([*keys, new])
        self._record("announced", new)
        click.echo(f"made the key {new.fingerprint}; it only opens for now")
        return [*keys, new]

    def _promote(self, new: Key, keys: list[Key]) -> list[Key]:
        sealing = Key(new.value, f"since {_today()}")
        keys = [sealing, *(one for one in keys if one.value != new.value)]
        self._holder.replace(keys)
        self._everywhere = False
        click.echo(f"the key {new.fingerprint} seals from now on")
        if is_server_url(self._settings.store):
            # What was sealed a moment ago is with the server by then.
            time.sleep(SETTLING)
        return keys

    def _renew(self, key: Key) -> RotationResult:
        total = RotationResult()
        for one, done in key_rotation.rotate_secrets(self._store):
            total.add(done)
            if done.many or done.closed:
                lost = f", {done.closed} open with no key" if done.closed else ""
                click.echo(f"{one}: {done.many} sealed anew{lost}")
        return total

    def _record(self, step: str, key: Key, **more: int) -> None:
        ids = {"key": key.fingerprint, **more}
        self._store.do(audit_log.add, entry(click.get_current_context(), step, **ids))

    def _forget(self, keys: list[Key]) -> None:
        self._holder.replace(keys[:1])
        self._record("finished", keys[0])
        gone = ", ".join(one.fingerprint for one in keys[1:])
        if keys[1:]:
            click.echo(f"forgot the key {gone}")
        output.print_note(
            "backups made before this open with the old key alone: keep it with them, or make a"
            " new one now with `tocsin backup`"
        )
        if self._distant:
            output.print_note(f"copy {self._holder.path} to every machine once more")

    def _wait_for(self, key: Key, keys: list[Key], *, first: bool) -> None:
        """Go on only where everybody has the file as it is now."""
        does = "seal with" if first else "have"
        services = key_holders.without(key, keys, first=first)
        if services:
            self._stop(
                f"{', '.join(services)} does not {does} the key {key.fingerprint} yet, for systemd"
                f" gave it a copy at its start: `systemctl restart {' '.join(services)}`"
            )
        if self._distant and not self._everywhere:
            self._stop(
                f"the other machines do not {does} the key {key.fingerprint} yet: copy"
                f" {self._holder.path} to all of them; then with --everywhere (or, if there are"
                " none, --only-here)"
            )

    def _stop(self, message: str) -> None:
        click.echo(f"{message}, then the same command goes on")
        raise click.exceptions.Exit(exits.FIRST)


def _today() -> str:
    return clock.iso(clock.Clock().now())
