"""The record of a daemon's settings in the data directory."""

import threading
from pathlib import Path

import pytest

from hub.cli.service.configuration import Configuration, Settings
from hub.cli.service.daemon_record import effective, recorded

STORE = "postgresql://ada:hush@host/db"


def test_a_record_holds_no_password(tmp_path: Path) -> None:
    with recorded(Settings(data_dir=tmp_path, store=STORE, port=4321), None):
        (record,) = tmp_path.glob("daemon-*.json")
        text = record.read_text(encoding="utf-8")
    assert "4321" in text
    assert "hush" not in text
    assert list(tmp_path.glob("daemon-*.json")) == []


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


def test_settings_are_listed_without_the_password(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_STORE", STORE)
    for shown in (run("settings"), run("settings", "--json")):
        assert "postgresql://ada:...@host/db" in shown.stdout
        assert "hush" not in shown.stdout
