"""The record of a daemon's settings in the data directory."""

from pathlib import Path

import pytest

from hub.cli.service.configuration import Settings
from hub.cli.service.daemon_record import recorded

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


def test_settings_are_listed_without_the_password(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_STORE", STORE)
    for shown in (run("settings"), run("settings", "--json")):
        assert "postgresql://ada:...@host/db" in shown.stdout
        assert "hush" not in shown.stdout
