"""The files for systemd that come with the program, and where each belongs."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from store.errors import Unusable

UNITS = Path("etc/systemd/system")
WHOLE = ("tocsin.service", "tocsin.socket")
SPLIT = ("tocsin-hub.service", "tocsin-worker.service", "tocsin.socket")
EVERY_UNIT = tuple(dict.fromkeys(WHOLE + SPLIT))
FRAGMENTS = {
    "tocsin.sysusers": Path("etc/sysusers.d/tocsin.conf"),
    "tocsin.tmpfiles": Path("etc/tmpfiles.d/tocsin.conf"),
}
# What an administrator changes is never written over.
OWN = {
    "tocsin.env": (Path("etc/tocsin/tocsin.env"), 0o600),
    "tocsin.toml": (Path("etc/tocsin/tocsin.toml"), 0o644),
}
# For who watches it from elsewhere.
FOR_PROMETHEUS = ("prometheus-rules.yaml", "grafana-dashboard.json")
KEY = Path("etc/tocsin/secret.key")
STATE = Path("var/lib/tocsin")

# What stands in the files for the program, wherever that is.
PROGRAM = "/opt/tocsin/bin/tocsin"
HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")  # noqa: S108 - by ProtectHome=, PrivateTmp=


@dataclass(frozen=True, slots=True)
class InstalledFile:
    """A file as it is to be, at a path from the root."""

    path: Path
    text: str


def units(program: Path, *, split: bool) -> Iterator[InstalledFile]:
    """The units and fragments for a program at this path."""
    for name in SPLIT if split else WHOLE:
        text = shipped(name).replace(PROGRAM, str(program))
        if split:
            text = text.replace("Service=tocsin.service", "Service=tocsin-hub.service")
        yield InstalledFile(UNITS / name, text)
    for name, path in FRAGMENTS.items():
        yield InstalledFile(path, shipped(name))


def shipped(name: str) -> str:
    """The text of a file as it comes with the program."""
    return (directory() / name).read_text(encoding="utf-8")


def directory() -> Path:
    """Where the files are: beside this module when installed, in the project otherwise."""
    installed = Path(__file__).with_name("systemd_units")
    return installed if installed.is_dir() else Path(__file__).parents[3] / "systemd"


def this_program() -> Path:
    """The `tocsin` of this Python environment."""
    return Path(sys.executable).with_name("tocsin")


def check_program(program: Path) -> None:
    """Unusable where the units could not start it."""
    if not re.fullmatch(r"/[\w./+@-]+", str(program)):
        raise Unusable(f"the program's path {program} must be absolute, and plain")
    for path in (program, program.resolve(), program.with_name("python").resolve()):
        if any(path.is_relative_to(hidden) for hidden in HIDDEN):
            raise Unusable(
                f"{path} is out of the units' sight, who see nothing of {', '.join(HIDDEN)}: "
                "install tocsin elsewhere, such as in /opt/tocsin"
            )
    if not program.exists():
        raise Unusable(f"there is no program {program}: name it with --program")
