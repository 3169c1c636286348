"""The record of a daemon's settings in the data directory."""

import asyncio
import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from hub.cli.service.configuration import Configuration, Settings
from hub.cli.service.daemon import Daemon
from hub.cli.service.daemon_record import damage_met, effective, recorded
from hub.cli.service.notify import Notifier
from store import Connection, Store, open_store
from store.errors import Damaged

STORE = "postgresql://ada:hush@host/db"


def test_a_record_holds_no_password(tmp_path: Path) -> None:
    with recorded(Settings(data_dir=tmp_path, store=STORE, port=4321), None):
        (record,) = tmp_path.glob("daemon-*.json")
        text = record.read_text(encoding="utf-8")
    assert "4321" in text
    assert "hush" not in text
    assert list(tmp_path.glob("daemon-*.json")) == []


def test_a_command_without_the_password_knows_the_database(tmp_path: Path) -> None:
    url = "postgresql://eve:hers@host/db"
    with recorded(Settings(data_dir=tmp_path, store=STORE), None):
        read = effective(Configuration(Settings(data_dir=tmp_path), {}))
        given = Configuration(Settings(data_dir=tmp_path, store=url), {"store": "TOCSIN_STORE"})
        kept = effective(given)
    assert read.settings.store == "postgresql://ada@host/db"
    assert read.origins["store"] == "the running daemon"
    assert kept.settings.store == url


def test_containers_that_share_a_directory_may_have_the_same_process_id(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with recorded(settings, "hub"), recorded(settings, "worker"):
        assert len(list(tmp_path.glob("daemon-*.json"))) == 2


def test_a_record_that_is_replaced_is_whole_at_any_moment(tmp_path: Path) -> None:
    over = threading.Event()

    def replace() -> None:
        while not over.is_set():
            record.write(Settings(data_dir=tmp_path, port=4321))

    with recorded(Settings(data_dir=tmp_path, port=4321), None) as record:
        thread = threading.Thread(target=replace)
        thread.start()
        try:
            for _ in range(300):
                read = effective(Configuration(Settings(data_dir=tmp_path), {}))
                assert read.settings.port == 4321
            with recorded(Settings(data_dir=tmp_path), "worker"):
                assert len(list(tmp_path.glob("daemon-*.json"))) == 2
        finally:
            over.set()
            thread.join()
    assert list(tmp_path.glob("daemon-*")) == []


def test_a_record_that_cannot_be_written_does_not_lock_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with recorded(Settings(data_dir=tmp_path, port=4321), None) as record:
        other = Settings(data_dir=tmp_path, port=4322)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(OSError, match="No space"):
                record.write(other)
        assert effective(Configuration(Settings(data_dir=tmp_path), {})).settings.port == 4321
        record.write(Settings(data_dir=tmp_path, port=4323))
        assert effective(Configuration(Settings(data_dir=tmp_path), {})).settings.port == 4323
    assert list(tmp_path.glob("daemon-*")) == []


def test_a_daemon_begins_and_ends_without_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The database may be on another disk than the data directory, which is full or read-only."""
    (tmp_path / "daemon-1-old.json").touch()

    def refused(*args: object, **options: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refused)
        patch.setattr(os, "unlink", refused)
        with recorded(Settings(data_dir=tmp_path, port=4321), None):
            pass
    assert "commands do not see the settings in effect" in caplog.text
    assert effective(Configuration(Settings(data_dir=tmp_path), {})).settings.port == 8765


def test_a_command_in_another_directory_finds_the_files_of_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with recorded(Settings(data_dir=tmp_path, key_file=Path("its.key")), None):
        monkeypatch.chdir("/")
        read = effective(Configuration(Settings(data_dir=tmp_path), {}))
    assert read.settings.key_file == tmp_path / "its.key"


def test_a_daemon_begins_if_a_path_is_no_utf8(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with recorded(Settings(data_dir=tmp_path, key_file=Path("\udcff")), None):
        assert "commands do not see the settings in effect" in caplog.text


def test_a_record_of_settings_that_require_a_secret_is_used(tmp_path: Path) -> None:
    secret: dict[str, Any] = {"mail_user": "hub", "mail_password": "hush-hush"}
    mail = {"mail_host": "smtp.example", "mail_from": "hub@tower.example"}
    with recorded(Settings(data_dir=tmp_path, **mail, **secret), None):
        (record,) = tmp_path.glob("daemon-*.json")
        assert "hush-hush" not in record.read_text(encoding="utf-8")
        found = effective(Configuration(Settings(data_dir=tmp_path), {})).settings
    assert (found.mail_user, found.mail_password) == ("hub", None)


def test_settings_are_listed_without_the_password(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_STORE", STORE)
    for shown in (run("settings"), run("settings", "--json")):
        assert "postgresql://ada:...@host/db" in shown.stdout
        assert "hush" not in shown.stdout


async def test_damage_that_a_daemon_meets_is_in_its_record(store: Store, tmp_path: Path) -> None:
    def meet(db: Connection) -> None:
        raise Damaged("page 7")

    settings = Settings(data_dir=tmp_path)
    daemon = Daemon(store, settings, lambda: settings, Notifier())
    with recorded(settings, None) as daemon.record:
        daemon.follow_damage()
        assert damage_met(tmp_path) == []
        with pytest.raises(Damaged):
            await store.read(meet)
        await until(lambda: damage_met(tmp_path) == ["page 7"])
        assert daemon.status() == "page 7"
    assert damage_met(tmp_path) == []
    await store.close()


def test_damage_that_is_met_after_the_loop_is_still_raised(tmp_path: Path) -> None:
    """A thread that reads may outlive the loop."""
    store = open_store("sqlite", data_dir=tmp_path)
    settings = Settings(data_dir=tmp_path)

    async def follow() -> None:
        Daemon(store, settings, lambda: settings, Notifier()).follow_damage()

    def meet(db: Connection) -> None:
        raise Damaged("page 7")

    asyncio.run(follow())
    with pytest.raises(Damaged):
        store.read_sync(meet)
    store.shut()
