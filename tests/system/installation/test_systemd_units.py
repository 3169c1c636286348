"""systemd's own tools verify the units, without running them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from waiting import PATIENCE

from hub.cli import main
from hub.cli.install.systemd_files import EVERY_UNIT, UNITS, directory

ANALYZE = shutil.which("systemd-analyze")
SERVICES = [name for name in EVERY_UNIT if name.endswith(".service")]
MOST = 1.2

needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="needs systemd-analyze")


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """Install all units, for a program that exists. Return their folder."""
    for split in ([], ["--split"]):
        given = ["--prefix", str(tmp_path), "--program", sys.executable, *split]
        result = CliRunner().invoke(main, ["systemd", "install", *given])
        assert result.exit_code == 0, result.output
        for unit in (tmp_path / UNITS).iterdir():
            shutil.copy(unit, tmp_path)
    return tmp_path


def analyze(*args: object) -> str:
    assert ANALYZE is not None
    done = subprocess.run(
        [ANALYZE, *map(str, args)], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@needs_systemd
def test_systemd_verifies_the_units(units: Path) -> None:
    said = analyze("verify", "--man=no", *(units / name for name in EVERY_UNIT))
    assert "tocsin" not in said, said


@needs_systemd
@pytest.mark.parametrize("name", SERVICES)
def test_exposure_of_the_units(units: Path, name: str) -> None:
    said = analyze("security", "--offline=true", "--no-pager", units / name)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", said)
    assert found is not None
    assert float(found[1]) <= MOST, said


def test_the_services_are_confined_alike() -> None:
    confined = {
        (directory() / name).read_text().partition("\nUser=")[2].partition("\n[Install]")[0]
        for name in SERVICES
    }
    assert len(confined) == 1
    assert "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\n" in confined.pop()
