"""The container image: built from the checkout, started, asked for its health, and stopped."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from ports import free_port
from waiting import PATIENCE, wait_until

ROOT = Path(__file__).parents[2]
# An image with Python and apt that the machine has: a test reaches no registry.
BASE = os.environ.get("TOCSIN_TEST_CONTAINER_BASE", "")
TAG = "localhost/tocsin-test"

pytestmark = [
    pytest.mark.skipif(shutil.which("buildah") is None, reason="buildah is not installed"),
    pytest.mark.skipif(not BASE, reason="TOCSIN_TEST_CONTAINER_BASE names no base image"),
]


def buildah(*arguments: str) -> str:
    done = subprocess.run(["buildah", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def container() -> Iterator[str]:
    given = ["--network", "host", "--build-arg", f"BASE={BASE}", "--tag", TAG]
    buildah("bud", "--format", "docker", *given, "--file", "systemd/Containerfile", str(ROOT))
    name = buildah("from", TAG)
    yield name
    buildah("rm", name)
    buildah("rmi", TAG)


def test_the_image_serves_without_root_and_stops_cleanly(container: str) -> None:
    port = free_port()
    assert buildah("run", container, "id", "-u") == "10001"
    program = ["tocsin", "serve", "--port", str(port)]
    daemon = subprocess.Popen(["buildah", "run", "--network", "host", container, *program])
    try:
        wait_until(lambda: _status(port) == 200, "the hub's answer")
        os.kill(_process_id(port), signal.SIGTERM)
        assert daemon.wait(PATIENCE) == 0
    finally:
        daemon.kill()


def test_the_image_says_how_its_health_is_checked(container: str) -> None:
    form = "{{.Docker.Config.Healthcheck}} {{.Docker.Config.StopSignal}} {{.Docker.Config.User}}"
    said = buildah("inspect", "--type", "image", "--format", form, TAG)
    assert "/healthz" in said
    assert said.endswith("SIGTERM tocsin")


def _process_id(port: int) -> int:
    """Of the program itself: buildah, which started it, passes no signals on."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            command = (process / "cmdline").read_bytes().split(b"\0")
            if command[0].startswith(b"/opt/tocsin/") and str(port).encode() in command:
                return int(process.name)
    raise AssertionError("there is no such process")


def _status(port: int) -> int | None:
    try:
        return httpx.get(
            f"http://127.0.0.1:{port}/healthz", trust_env=False, timeout=PATIENCE
        ).status_code
    except httpx.TransportError:
        return None
