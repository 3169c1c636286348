"""The container image: built from the checkout, started, asked for its health, and stopped."""

import json
import os
import platform
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

ROOT = Path(__file__).parents[3]
# A local image with Python and apt. Without it, the test builds one from packages, because tests
# use no image registry.
BASE = os.environ.get("TOCSIN_TEST_CONTAINER_BASE", "")
TAG, MADE = "localhost/tocsin-test", "localhost/tocsin-test-base"
PACKAGES = "ca-certificates,python3,python3-venv"
# Debian's own images fetch no translations, and install no manuals, either.
APT = 'Acquire::Languages "none"'
LEFT_OUT = ("doc", "info", "locale", "man")
# The test starts the image once and imports few modules, so that compiling all of them would take
# longer. pip reads `no` as "do not compile".
PIP = "[install]\nno-compile = no\n"
# The certificates that this machine trusts: the package index may be a mirror.
TRUSTED = Path("/etc/ssl/certs/ca-certificates.crt")
# The base has that file in place of Debian's certificates. To link each of them by its name and
# its digest takes 1,600 processes.
NOT_UNPACKED = (*LEFT_OUT, *(["ca-certificates"] if TRUSTED.exists() else []))
DPKG = "".join(f"path-exclude=/usr/share/{name}/*\n" for name in NOT_UNPACKED)
# The user of the image. This isolation maps no users to others.
USER = 10001
# This isolation needs no namespaces and no control groups, and works in a container too. Collecting
# its garbage as often as Go does by default takes buildah a third of its time, and threads on
# several processors, which wait for each other, take a tenth of the rest.
ENVIRONMENT = {"BUILDAH_ISOLATION": "chroot", "GOGC": "400", "GOMAXPROCS": "1", **os.environ}

pytestmark = [
    pytest.mark.skipif(shutil.which("buildah") is None, reason="buildah is not installed"),
    pytest.mark.skipif(
        not BASE and (shutil.which("mmdebstrap") is None or os.geteuid() != 0),
        reason="TOCSIN_TEST_CONTAINER_BASE names no base image, and mmdebstrap makes none",
    ),
    pytest.mark.slow("an image is built from packages"),
]


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Buildah:
    """The program buildah with its storage of images and containers."""

    def __init__(self, folder: Path | None) -> None:
        """Keep the storage in a folder; None means the machine's own storage."""
        kept = [] if folder is None else ["--root", f"{folder}/root", "--runroot", f"{folder}/run"]
        self.command = ["buildah", *kept]

    def __call__(self, *arguments: str) -> str:
        return run(*self.command, *arguments)


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    """Use the machine's storage if it has the base image, and otherwise a temporary folder."""
    if BASE:
        yield Buildah(None)
        return
    folder = tmp_path_factory.mktemp("images")
    yield Buildah(folder)
    # The storage mounts this folder on itself. If a command was killed, it stays mounted, and no
    # later run could remove it.
    layers = folder / "root" / "overlay"
    if layers.is_mount():
        run("umount", "--lazy", str(layers))


@pytest.fixture(scope="module")
def base(buildah: Buildah, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of an image with Python."""
    if BASE:
        yield BASE
        return
    suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
    name = buildah("from", "scratch")
    folder = buildah("mount", name)
    slim = tmp_path_factory.mktemp("dpkg") / "slim"
    slim.write_text(DPKG, encoding="utf-8")
    made = ["--quiet", "--variant=apt", "--format=directory", f"--aptopt={APT}"]
    # dpkg reads these options for all packages after the essential ones. If mmdebstrap had them, it
    # would filter packages with a slow program of its own.
    made.append(f'--essential-hook=cp {slim} "$1/etc/dpkg/dpkg.cfg.d/"')
    run("mmdebstrap", *made, f"--include={PACKAGES}", suite, folder)
    # Manuals would only make the image larger, and buildah slower.
    for manuals in LEFT_OUT:
        shutil.rmtree(Path(folder, "usr/share", manuals), ignore_errors=True)
    if TRUSTED.exists():
        shutil.copy(TRUSTED, folder + str(TRUSTED))
    buildah("unmount", name)
    buildah("commit", "--rm", name, MADE)
    yield MADE
    buildah("rmi", MADE)


@pytest.fixture(scope="module")
def container(
    buildah: Buildah, base: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    pip = tmp_path_factory.mktemp("settings") / "pip.conf"
    pip.write_text(PIP, encoding="utf-8")
    given = ["--network", "host", "--build-arg", f"BASE={base}", "--tag", TAG]
    given += ["--volume", f"{pip}:/etc/pip.conf:ro"]
    buildah("bud", "--format", "docker", *given, "--file", "systemd/Containerfile", str(ROOT))
    name = buildah("from", TAG)
    yield name
    buildah("rm", name)
    buildah("rmi", TAG)


def test_the_image_serves_without_root_and_stops_cleanly(buildah: Buildah, container: str) -> None:
    port = free_port()
    image = json.loads(buildah("inspect", "--type", "image", TAG))
    program = [*image["Docker"]["config"]["Entrypoint"], "serve", "--port", str(port)]
    daemon = subprocess.Popen(
        [*buildah.command, "run", "--network", "host", container, *program], env=ENVIRONMENT
    )
    try:
        with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
            wait_until(lambda: _status(client, port) == 200, "the hub's answer", pause=0.05)
        pid = _process_id(port)
        assert f"\nUid:\t{USER}\t" in Path(f"/proc/{pid}/status").read_text()
        os.kill(pid, signal.SIGTERM)
        assert daemon.wait(PATIENCE) == 0
    finally:
        daemon.kill()


def test_the_image_declares_its_health_check(buildah: Buildah, container: str) -> None:
    form = "{{.Docker.Config.Healthcheck}} {{.Docker.Config.StopSignal}} {{.Docker.Config.User}}"
    said = buildah("inspect", "--type", "image", "--format", form, TAG)
    assert "/healthz" in said
    assert said.endswith("SIGTERM tocsin")


def _process_id(port: int) -> int:
    """The id of the program's own process: buildah, which started it, passes no signals on."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # the process has just ended
            command = (process / "cmdline").read_bytes().split(b"\0")
            if command[0].startswith(b"/opt/tocsin/") and str(port).encode() in command:
                return int(process.name)
    raise AssertionError("there is no such process")


def _status(client: httpx.Client, port: int) -> int | None:
    try:
        return client.get(f"http://127.0.0.1:{port}/healthz").status_code
    except httpx.TransportError:
        return None
