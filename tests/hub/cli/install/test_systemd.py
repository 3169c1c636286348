"""`tocsin systemd` installs the units and settings files that the package contains."""

import errno
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from hub.cli.install import systemd_files
from hub.cli.install.systemd_environment import IN_UNITS, environment
from hub.cli.service.configuration import Settings, configure
from hub.cli.service.daemon import AT_START
from hub.cli.service.setting_list import all_settings

PROJECT = Path(__file__).parents[4]
PROGRAM = "/opt/tocsin/bin/tocsin"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def unit_names(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "etc/systemd/system").iterdir())


def test_installing_writes_unit_socket_and_settings(run, root):
    out = run("systemd", "install", "--prefix", root, "--program", PROGRAM).stdout
    assert "systemctl enable --now tocsin.service\n" in out
    assert unit_names(root) == ["tocsin.service", "tocsin.socket"]
    unit = (root / "etc/systemd/system/tocsin.service").read_text()
    assert f"\nExecStart={PROGRAM} serve\n" in unit
    assert (root / "etc/sysusers.d/tocsin.conf").read_text().endswith('hub" /var/lib/tocsin\n')
    assert (root / "etc/tmpfiles.d/tocsin.conf").exists()
    key = root / "etc/tocsin/secret.key"
    Fernet(key.read_bytes().strip())
    assert {path.name: path.stat().st_mode & 0o777 for path in key.parent.iterdir()} == {
        "secret.key": 0o600,
        "tocsin.env": 0o600,
        "tocsin.toml": 0o644,
    }


def test_another_program_can_be_named_in_the_units(run, root):
    run("systemd", "install", "--split", "--prefix", root, "--program", "/srv/x/tocsin")
    unit = (root / "etc/systemd/system/tocsin-hub.service").read_text()
    assert "\nExecStart=/srv/x/tocsin serve --only hub\n" in unit
    assert "/opt/tocsin" not in unit


def test_a_program_needs_an_absolute_path(run, root):
    said = run("systemd", "install", "--prefix", root, "--program", "bin/tocsin", code=1).stderr
    assert "must be absolute" in said
    assert not list(root.rglob("*.service"))


def test_installing_again_keeps_the_administrator_s_files(run, root):
    run("systemd", "install", "--prefix", root)
    settings, key = root / "etc/tocsin/tocsin.toml", root / "etc/tocsin/secret.key"
    settings.write_text("port = 1\n")
    before = key.read_bytes()
    unit = root / "etc/systemd/system/tocsin.service"
    unit.write_text("old\n")
    assert f"written  {unit}" in run("systemd", "install", "--prefix", root).stdout
    assert settings.read_text() == "port = 1\n"
    assert key.read_bytes() == before


def test_the_key_of_existing_data_is_taken_over(run, root):
    known = root / "var/lib/tocsin/secret.key"
    known.parent.mkdir(parents=True)
    known.write_bytes(Fernet.generate_key() + b"\n")
    run("systemd", "install", "--prefix", root)
    assert (root / "etc/tocsin/secret.key").read_bytes() == known.read_bytes()


def test_a_full_disk_leaves_no_part_of_a_file(run, root, monkeypatch):
    known = root / "var/lib/tocsin/secret.key"
    known.parent.mkdir(parents=True)
    known.write_bytes(Fernet.generate_key())
    write = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if "secret.key" in path.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        said = run("systemd", "install", "--prefix", root, "--program", PROGRAM, code=6).stderr
    assert said == f"Error: cannot write {root}: No space left on device\n"
    assert [path.name for path in root.rglob("*.part")] == []
    run("systemd", "install", "--prefix", root, "--program", PROGRAM)
    assert (root / "etc/tocsin/secret.key").read_bytes() == known.read_bytes()


def test_one_service_can_be_split_and_joined_again(run, root):
    run("systemd", "install", "--prefix", root)
    out = run("systemd", "install", "--split", "--prefix", root).stdout
    assert "systemctl enable --now tocsin-hub.service tocsin-worker.service\n" in out
    assert unit_names(root) == ["tocsin-hub.service", "tocsin-worker.service", "tocsin.socket"]
    socket = (root / "etc/systemd/system/tocsin.socket").read_text()
    assert "\nService=tocsin-hub.service\n" in socket
    run("systemd", "install", "--prefix", root)
    assert unit_names(root) == ["tocsin.service", "tocsin.socket"]
    socket = (root / "etc/systemd/system/tocsin.socket").read_text()
    assert "\nService=tocsin.service\n" in socket


def test_uninstalling_keeps_settings_and_data(run, root):
    run("systemd", "install", "--split", "--prefix", root)
    (root / "var/lib/tocsin").mkdir(parents=True)
    out = run("systemd", "uninstall", "--prefix", root).stdout
    assert f"stays    {root}/etc/tocsin\nstays    {root}/var/lib/tocsin\n" in out
    left = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
    assert {path.parent for path in left} == {Path("etc/tocsin")}
    assert run("systemd", "uninstall", "--prefix", root).stdout == out[out.index("stays") :]


def test_an_unwritable_place_is_reported(run, root):
    root.write_text("a file")
    run("systemd", "install", "--prefix", root, code=2)
    root.unlink()
    (root / "etc").mkdir(parents=True)
    (root / "etc/tocsin").write_text("a file")
    assert "Error: cannot write" in run("systemd", "install", "--prefix", root, code=1).stderr


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("/home/ada/venv/bin/tocsin", "the units cannot see"),
        ("/opt/with space/tocsin", "must be absolute, with only"),
        ("bin/tocsin", "must be absolute, with only"),
        ("/opt/nowhere/bin/tocsin", "there is no program"),
    ],
)
def test_programs_that_the_units_could_not_start(run, monkeypatch, program, said):
    def untouched(*args: object) -> None:
        raise AssertionError("the command must not change this machine")

    monkeypatch.setattr(Path, "touch", untouched)
    monkeypatch.setattr(Path, "write_text", untouched)
    monkeypatch.setattr(subprocess, "run", untouched)
    assert said in run("systemd", "install", "--program", program, code=1).stderr


def uncommented(text: str) -> dict[str, str]:
    """Return the settings that the file has as comments, by the names of their variables."""
    found = [line[1:] for line in text.splitlines() if line.startswith("#TOCSIN_")]
    return {name: "".join(shlex.split(value)) for name, value in (x.split("=", 1) for x in found)}


def test_the_environment_file_is_up_to_date():
    text = (PROJECT / "systemd/tocsin.env").read_text()
    assert text == environment(), "run `python -m hub.cli.manual.generate`"


def test_the_environment_file_shows_every_default_as_a_comment(monkeypatch):
    text = environment()
    assert not [line for line in text.splitlines() if line and not line.startswith("#")]
    found = uncommented(text)
    assert list(found) == [each.environment for each in all_settings()]
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    settings = configure({}).settings
    for name in Settings.model_fields:
        if name not in ("data_dir", "key_file"):
            assert getattr(settings, name) == getattr(Settings(), name), name
    assert str(settings.data_dir) == "/var/lib/tocsin"


def test_remarks_belong_to_existing_settings():
    assert IN_UNITS.keys() <= Settings.model_fields.keys()
    assert set(AT_START) <= Settings.model_fields.keys()


def test_the_settings_file_is_one(monkeypatch):
    monkeypatch.delenv("TOCSIN_DATA_DIR")
    path = PROJECT / "systemd/tocsin.toml"
    tomllib.loads(path.read_text())
    settings = configure({}, path).settings
    assert str(settings.data_dir) == "/var/lib/tocsin"
    assert str(settings.key_file) == "/etc/tocsin/secret.key"


def test_the_files_go_with_the_program():
    wheel = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    included = wheel["targets"]["wheel"]["force-include"]
    assert included["systemd"] == "hub/cli/install/systemd_units"
    assert systemd_files.directory() == PROJECT / "systemd"
    names = {path.name for path in systemd_files.directory().iterdir()}
    assert names >= {*systemd_files.EVERY_UNIT, *systemd_files.FRAGMENTS, *systemd_files.OWN}
