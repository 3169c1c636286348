"""Settings: the order of their sources, and the messages about wrong ones."""

import os
from collections import Counter
from pathlib import Path

import pytest

from hub.cli.service.configuration import Settings, configure
from hub.cli.service.setting_list import all_settings
from hub.settings import HubSettings
from store.errors import Unusable
from store.mail.settings import MailSettings
from store.settings import (
    DataSettings,
    ImportSettings,
    StoreSettings,
    UsageSettings,
    WebSubSettings,
)
from worker.settings import WorkerSettings


def test_defaults(directory: Path):
    found = configure({})
    assert found.settings.port == Settings().port
    assert dict(found.origins) == {"data_dir": "TOCSIN_DATA_DIR"}


def test_the_order_of_the_sources(monkeypatch, directory: Path):
    Path("tocsin.toml").write_text('port = 1001\nhost = "10.0.0.1"\ntimeout = 3\n')
    monkeypatch.setenv("TOCSIN_HOST", "10.0.0.2")
    monkeypatch.setenv("TOCSIN_PORT", "1002")
    found = configure({"port": 1003, "host": None})
    settings = found.settings
    assert (settings.port, settings.host, settings.timeout) == (1003, "10.0.0.2", 3)
    assert found.origins["port"] == "command line"
    assert found.origins["host"] == "TOCSIN_HOST"
    assert found.origins["timeout"] == "tocsin.toml"


def test_a_file_can_be_named(monkeypatch, tmp_path):
    for number in (1, 2):
        (tmp_path / f"{number}.toml").write_text(f"port = 100{number}")
    monkeypatch.setenv("TOCSIN_CONFIG", str(tmp_path / "1.toml"))
    assert configure({}).settings.port == 1001
    assert configure({}, tmp_path / "2.toml").settings.port == 1002
    with pytest.raises(Unusable, match=r"none\.toml: No such file"):
        configure({}, tmp_path / "none.toml")


@pytest.mark.parametrize("text", ["10.0.0.0/8,192.168.0.0/16", '["10.0.0.0/8", "192.168.0.0/16"]'])
def test_lists_in_the_environment(monkeypatch, text):
    monkeypatch.setenv("TOCSIN_ALLOW_NETWORKS", text)
    monkeypatch.setenv("TOCSIN_RETRIES", "0, 5, 60")
    settings = configure({}).settings
    assert settings.allow_networks == ["10.0.0.0/8", "192.168.0.0/16"]
    assert settings.retries == [0, 5, 60]


def test_empty_is_not_set(monkeypatch):
    monkeypatch.setenv("TOCSIN_RATE", "")
    assert configure({}).settings.rate is None


def test_unknown_variables_of_the_environment_are_ignored(monkeypatch):
    monkeypatch.setenv("TOCSIN_TOKEN", "x")
    configure({})


def test_an_empty_pipe_is_refused_as_a_settings_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unusable, match=r"cannot read the settings file .*pipe without content"):
        configure({}, tmp_path / "pipe")


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("prot = 1", "prot: there is no such setting (from tocsin.toml)"),
        ("port = 'x'", "port: "),
        ("port = 99999", "not 99999 (from tocsin.toml)"),
        ("[worker]\ntimeout = 3", "worker: there is no such setting"),
        ("port = ", "is not TOML"),
        ("retries = [0, -1]", "retries.1: "),
        (
            "allow_networks = ['10.0.0.1/8']",
            "allow_networks: 10.0.0.1/8 has host bits set (allow_networks is from t",
        ),
        ("callback_ports = '80-79'", "callback_ports: '80-79' is not a port, and not a range of p"),
        ("store = 'mysql://ada:sesame@host/db'", "use sqlite, sqlite:///path/to/file or postgresq"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(toml, said):
    Path("tocsin.toml").write_text(toml)
    with pytest.raises(Unusable) as refused:
        configure({})
    assert said in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_store_that_cannot_be_looked_at_is_a_setting():
    """Only a command that opens it can say why."""
    store = f"sqlite:////{'x' * 300}.db"
    Path("tocsin.toml").write_text(f"store = '{store}'")
    assert configure({}).settings.store == store


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("disable_after = inf", "disable_after: must be a number of at most 3162240000"),
        ("keep_attempts = 1e30", "keep_attempts: must be a number of at most 3162240000"),
        ("ready_lag = nan", "ready_lag: "),
        ("breaker = 100000000000000000000", "breaker: must be at most 1000000000000"),
        ("points_per_minute = 9999999999999", "points_per_minute: must be at most 1000000000000"),
        ("rate_limits = {core = 9999999999999}", "rate_limits: must be at most 1000000000000"),
        ("rate_windows = {core = 99999999}", "rate_windows: core must last at most 31622400"),
        ('key_file = ""', "key_file: must not be empty"),
        ("port = true", "port: must be a number"),
        ("timeout = false", "timeout: must be a number"),
        ("breaker = true", "breaker: must be a number, not true or false"),
        ("rate_limits = {core = true}", "rate_limits: must be a number, not true or false"),
        ('base_url = "https://hub.example:99999"', "base_url: "),
        ('base_url = "https://hub.example:x"', "base_url: "),
        ('base_url = "https://ada:hush@hub.example"', "base_url: must have no user name"),
        ('base_url = "https://hub.example?"', "base_url: must have no query"),
        ('base_url = "https://hub.example/{a}"', "base_url: must have a valid port, and no other"),
        ('base_url = "https://ab\u0600.example"', "base_url: has the host"),
        ('base_url = "https://i\u2764.example"', "base_url: has the host i\u2764.example: write"),
        ('base_url = "https://hub.example /x"', "base_url: must have a valid port, and no other"),
        ('base_url = "https://hub.example/ui/"', "base_url: must not end in /ui"),
        ('base_url = "https://hub.example/ui/hooks"', "base_url: must not end in /ui/hooks"),
        ('base_url = "ada:hush@hub.example"', "base_url: must be an http or https URL"),
        ('header_prefixes = ["X-A-", "x-a-"]', "header_prefixes"),
        ('header_prefixes = ["X-A-", "X-a-"]', "header_prefixes: X-A- is given twice"),
        ("max_held_bytes = 1024", "max_held_bytes must be at least max_event_bytes (max_held_bytes"
         " is from tocsin.toml)"),
        ('mail_host = "smtp.x"', "mail_host requires mail_from (mail_host is from tocsin.toml"),
        ('store = "sqlite:///"', "store = 'sqlite' is not known"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_work_is_refused(run, toml, said):
    Path("tocsin.toml").write_text(toml)
    shown = run("status", code=1).stderr
    assert said in shown
    assert "hush" not in shown


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1]:8765",
        "https://hub.example/api/v3/",
        "http://10.0.0.1:80/~x",
    ],
)
def test_a_usual_base_url_is_accepted(url):
    assert HubSettings(base_url=url).root() == url.rstrip("/")


def test_a_base_url_in_unicode_is_used_in_ascii():
    """Headers have no other characters, and browsers and certificates name the host so."""
    settings = HubSettings(base_url="https://Bücher.example:8443/api/")
    assert settings.root() == "https://xn--bcher-kva.example:8443/api"


def test_a_wrong_environment_names_the_variable(monkeypatch):
    monkeypatch.setenv("TOCSIN_PORT", "http")
    monkeypatch.setenv("TOCSIN_RETRIES", "[0, x")
    with pytest.raises(Unusable) as refused:
        configure({})
    lines = str(refused.value).splitlines()
    assert len(lines) == 2
    assert any("port" in line and "'http' (from TOCSIN_PORT)" in line for line in lines)
    assert any("retries" in line and "(from TOCSIN_RETRIES)" in line for line in lines)


def test_no_two_parts_have_a_setting_of_one_name():
    names = [
        name for part in (HubSettings, WorkerSettings, StoreSettings) for name in part.model_fields
    ]
    # If several parts must agree about a setting, they share one declaration of it.
    shared = {
        name
        for part in (WebSubSettings, ImportSettings, UsageSettings, MailSettings, DataSettings)
        for name in part.model_fields
    }
    assert {name for name, times in Counter(names).items() if times > 1} == shared


def test_every_setting_is_described():
    assert {each.name for each in all_settings()} == set(Settings.model_fields)
    assert [each.name for each in all_settings() if not each.description] == []


def test_the_settings_command(monkeypatch, listed, run):
    monkeypatch.setenv("TOCSIN_PORT", "1002")
    rows = {row["setting"]: row for row in listed("settings")}
    assert rows["port"] == {"setting": "port", "value": 1002, "from": "TOCSIN_PORT"}
    assert rows["host"]["from"] == "default"
    assert "TOCSIN_PORT" in run("settings").stdout


def test_a_command_reports_a_wrong_setting(run):
    Path("tocsin.toml").write_text("prot = 1")
    assert run("status", code=1).stderr == (
        "Error: prot: there is no such setting (from tocsin.toml)\n"
    )
    assert "TOCSIN_CONFIG" not in os.environ
