"""`tocsin settings`: a readable table at a terminal, and complete values in a pipe."""

import pytest

from hub.cli.console import output
from hub.cli.service.setting_list import all_settings


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "250")


def test_the_settings_fit_a_hundred_columns_and_lose_nothing(run, listed, terminal):
    lines = run("settings").stdout.splitlines()
    assert max(map(len, lines)) <= 100
    for setting in all_settings():
        assert any(line.split()[:1] == [setting.name] for line in lines), setting.name
    reported = " ".join(lines)
    retries = next(row["value"] for row in listed("settings") if row["setting"] == "retries")
    assert all(f"{delay}" in reported for delay in retries)


def test_changed_settings_can_be_listed_alone(run, listed, terminal, monkeypatch):
    monkeypatch.setenv("TOCSIN_PORT", "9000")
    (row,) = [row for row in listed("settings", "--changed") if row["setting"] == "port"]
    assert (row["value"], row["from"]) == (9000, "TOCSIN_PORT")
    assert "retries" not in run("settings", "--changed").stdout


def test_a_pipe_gets_each_setting_in_a_line(run):
    lines = [line.split("\t") for line in run("settings").stdout.splitlines()]
    assert [line[0] for line in lines] == [setting.name for setting in all_settings()]
    assert {len(line) for line in lines} == {3}
