"""The settings of the Quadlet unit and the compose file, which start the container."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
CONTAINERFILE = (ROOT / "systemd" / "Containerfile").read_text(encoding="utf-8")
UNIT = (ROOT / "systemd" / "tocsin.container").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "systemd" / "compose.yaml").read_text(encoding="utf-8"))
QUADLET = os.environ.get("TOCSIN_TEST_QUADLET", "/usr/libexec/podman/quadlet")


def section(name: str) -> list[tuple[str, str]]:
    """The settings of a section of the unit."""
    text = UNIT.partition(f"[{name}]\n")[2].partition("\n[")[0]
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(key, value) for key, _, value in (line.partition("=") for line in lines)]


def check_of(command: list[str]) -> None:
    """Check that a health check is a valid Python program that requests /healthz."""
    *program, code = command
    assert program == ["python3", "-c"]
    assert "/healthz" in code
    compile(code, "health check", "exec")


def test_the_unit_has_no_file_that_podman_would_insist_on() -> None:
    container = dict(section("Container"))
    assert "EnvironmentFile" not in container, "podman takes a `-` before it for a part of the path"
    assert ("EnvironmentFile", "-/etc/tocsin/tocsin.env") in section("Service")
    assert container["PodmanArgs"] == "--env=TOCSIN_*"


def test_the_units_health_checks_keep_their_quotes() -> None:
    container = dict(section("Container"))
    for name in ("HealthCmd", "HealthStartupCmd"):
        assert not container[name].endswith('"'), "the generator removes it"
        check_of(shlex.split(container[name]))


@pytest.mark.skipif(shutil.which(QUADLET) is None, reason="Quadlet's generator is not installed")
def test_the_generator_makes_a_service_of_the_unit() -> None:
    done = subprocess.run(
        [QUADLET, "-dryrun", "-no-kmsg-log"],
        env={"QUADLET_UNIT_DIRS": str(ROOT / "systemd")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    start = re.search("^ExecStart=(.*)$", done.stdout, re.MULTILINE)
    assert start is not None, done.stderr
    words = shlex.split(start[1])
    assert not [word for word in words if word.startswith("--env-file")]
    for option in ("--health-cmd", "--health-startup-cmd"):
        check_of(shlex.split(words[words.index(option) + 1]))
    assert words[-2:] == ["--env=TOCSIN_*", "localhost/tocsin:latest"]


def test_each_service_that_answers_requests_has_a_health_check() -> None:
    services = COMPOSE["services"]
    for name in ("tocsin", "hub"):
        kind, *command = services[name]["healthcheck"]["test"]
        assert kind == "CMD"
        check_of(command)
    assert services["worker"]["healthcheck"] == {"disable": True}


@pytest.mark.parametrize("name", ["hub", "worker"])
def test_the_password_of_the_database_may_have_any_characters(name: str) -> None:
    services = COMPOSE["services"]
    given = services["database"]["environment"]["POSTGRES_PASSWORD"]
    environment = services[name]["environment"]
    assert environment["PGPASSWORD"] == given
    assert "$" not in environment["TOCSIN_STORE"]


def test_an_init_is_the_first_process_of_the_image() -> None:
    """As the first process, the daemon would miss a signal during its start, and would keep the
    processes of each import that was cancelled.
    """
    assert '\nENTRYPOINT ["tini", "--", "tocsin"]\n' in CONTAINERFILE
    assert re.search(r"apt-get install [^\n]* tini\b", CONTAINERFILE)


@pytest.mark.parametrize("page", ["README.md", "hub/docs/how-to/install.md"])
def test_images_are_built_with_their_health_check(page: str) -> None:
    """Images in the OCI format, podman's default, have no health check."""
    text = (ROOT / page).read_text(encoding="utf-8")
    commands = re.findall("^podman build.*$", text, re.MULTILINE)
    assert commands
    assert all("--format docker" in command for command in commands)
