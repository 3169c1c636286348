"""The record of a running daemon's settings, for commands that run in another environment.

The file is in the data directory. The daemon locks it while it runs, so that a record that a crash
left behind is recognized as old.
"""

import contextlib
import fcntl
import logging
import os
import resource
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from hub.cli.service.configuration import SECRETS, Configuration, Settings
from hub.settings import HubSettings
from store.settings import StoreSettings, without_password
from worker.settings import WorkerSettings

log = logging.getLogger("tocsin.serve")

ORIGIN = "the running daemon"
PARTS = {
    "hub": {*HubSettings.model_fields, *StoreSettings.model_fields},
    "worker": {*WorkerSettings.model_fields, *StoreSettings.model_fields},
}
# It satisfies every check of a secret's form.
PLACEHOLDER = "x" * 64
# Commands use this setting to find the record, so it cannot come from the record.
OWN = {"data_dir"}


class DaemonRecord:
    """The locked record of this process. `only` is `hub`, `worker`, or None if it runs both."""

    def __init__(self, path: Path, only: str | None) -> None:
        self.damage = ""
        """The damage that the process has met in its database, or ""."""
        self._path = path
        self._only = only
        self._descriptor: int | None = None

    def write(self, settings: Settings) -> None:
        """Replace the record by one of these settings."""
        content = orjson.dumps(self._record(settings))
        # The rename shows readers the whole former record or the whole new one. The new file is
        # locked before it gets its name: another daemon would remove an unlocked record.
        unlocked = self._path.with_suffix(".new")
        flags = os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_CLOEXEC
        descriptor = os.open(unlocked, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.write(descriptor, content)
            unlocked.rename(self._path)
        except BaseException:
            # The next attempt would wait for this lock for ever.
            os.close(descriptor)
            raise
        former, self._descriptor = self._descriptor, descriptor
        if former is not None:
            os.close(former)

    def _record(self, settings: Settings) -> dict[str, Any]:
        """Return the record of these settings, without secrets.

        A `store` URL with a password is apart, and lacks it. Commands then know the database, and
        may find a password in ~/.pgpass. A command with a URL of its own keeps that.
        """
        # Commands may run in another directory.
        whole = {name: value.absolute() for name, value in settings if isinstance(value, Path)}
        given = settings.model_copy(update=whole).model_dump(mode="json", exclude=SECRETS)
        hidden = {}
        if (bare := without_password(settings.store)) != settings.store:
            del given["store"]
            hidden["store"] = bare
        return {
            "only": self._only,
            "settings": given,
            "hidden": hidden,
            "secrets": [name for name in SECRETS if getattr(settings, name) is not None],
            "damage": self.damage,
            "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        }

    def keep(self, settings: Settings) -> None:
        """Write the record. If that fails, log it: the daemon itself does not need the record."""
        try:
            self.write(settings)
        except (OSError, orjson.JSONEncodeError) as error:  # a path may be no UTF-8
            log.error("commands do not see the settings in effect: %s", error)

    def remove(self) -> None:
        """Remove the record and release its lock."""
        for path in (self._path, self._path.with_suffix(".new")):
            _remove(path)
        if self._descriptor is not None:
            os.close(self._descriptor)


@contextlib.contextmanager
def recorded(settings: Settings, only: str | None) -> Iterator[DaemonRecord]:
    """Keep a record of the daemon during the block. Records of dead daemons are removed."""
    for path in _paths(settings.data_dir):
        if not _is_live(path):
            _remove(path)
    # The process id alone is not unique: containers that share the directory each have a process 1.
    path = settings.data_dir / f"daemon-{os.getpid()}-{secrets.token_hex(4)}.json"
    record = DaemonRecord(path, only)
    try:
        record.keep(settings)
        yield record
    finally:
        record.remove()


def effective(configuration: Configuration) -> Configuration:
    """Return the configuration with the settings of the daemon that runs on this data directory.

    Options of the command line keep their values. If no daemon runs, nothing changes.
    """
    settings, origins = configuration.settings, dict(configuration.origins)
    found, hidden, secret = _settings_of_daemons(settings.data_dir)
    theirs = {name: value for name, value in hidden.items() if name not in origins}
    theirs |= {name: value for name, value in found.items() if origins.get(name) != "command line"}
    # The record has no secrets, and some settings require one.
    unknown = dict.fromkeys(secret, PLACEHOLDER)
    try:
        whole = Settings.model_validate(settings.model_dump(exclude=SECRETS) | theirs | unknown)
    except ValidationError:
        # A daemon of another version may have other settings.
        return configuration
    changed = {
        name: getattr(whole, name)
        for name in theirs
        if getattr(whole, name) != getattr(settings, name)
    }
    origins.update(dict.fromkeys(changed, ORIGIN))
    return Configuration(settings.model_copy(update=changed), origins)


def _settings_of_daemons(
    data_dir: Path,
) -> tuple[Mapping[str, Any], Mapping[str, Any], set[str]]:
    """Return the settings of the daemons that run: open ones, and ones with a hidden part.

    Return also the names of the secret ones.
    """
    found: dict[str, Any] = {}
    hidden: dict[str, Any] = {}
    secret: set[str] = set()
    with contextlib.suppress(KeyError):
        for said in _live_records(data_dir):
            known = PARTS.get(said["only"], Settings.model_fields.keys())
            given = said["settings"].items()
            found |= {name: value for name, value in given if name in known and name not in OWN}
            hidden |= said.get("hidden", {})
            secret |= SECRETS & set(said.get("secrets", ()))
    return found, hidden, secret


def file_limits(data_dir: Path) -> list[int]:
    """Return how many files each daemon that runs may have open."""
    return [said["files"] for said in _live_records(data_dir) if "files" in said]


def damage_met(data_dir: Path) -> list[str]:
    """Return the damage of the database that the running daemons have met, one text for each."""
    return [said["damage"] for said in _live_records(data_dir) if said.get("damage")]


def _live_records(data_dir: Path) -> Iterator[Mapping[str, Any]]:
    for path in _paths(data_dir):
        with contextlib.suppress(OSError, orjson.JSONDecodeError):
            if _is_live(path):
                yield orjson.loads(path.read_bytes())


def _remove(path: Path) -> None:
    # On a file system that has become read-only, the record stays, and is recognized as old.
    with contextlib.suppress(OSError):
        path.unlink()


def _paths(data_dir: Path) -> list[Path]:
    return sorted(data_dir.glob("daemon-*.json"))


def _is_live(path: Path) -> bool:
    """Return whether a daemon holds the record's lock."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            # The daemon may have replaced the record since it was opened.
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                return False
        except BlockingIOError:
            return True
        except FileNotFoundError:
            return False
        finally:
            os.close(descriptor)
