"""The files for systemd that come with the program, and their destinations."""

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
# Files that administrators change; an existing one is never overwritten.
OWN = {
    "tocsin.env": (Path("etc/tocsin/tocsin.env"), 0o600),
    "tocsin.toml": (Path("etc/tocsin/tocsin.toml"), 0o644),
}
# Files for monitoring systems.
FOR_PROMETHEUS = ("prometheus-rules.yaml", "grafana-dashboard.json")
KEY = Path("etc/tocsin/secret.key")
STATE = Path("var/lib/tocsin")

# The program's path in the files, which is replaced by the actual one.
PROGRAM = "/opt/tocsin/bin/tocsin"
HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")  # noqa: S108 - by ProtectHome=, PrivateTmp=


@dataclass(frozen=True, slots=True)
class InstalledFile:
    """The text of a file, and its path from the root."""

    path: Path
    text: str


def units(program: Path, *, split: bool) -> Iterator[InstalledFile]:
    """Yield the units and other system files for a program at this path.

    With `split`, the hub and the worker are services of their own.
    """
    for name in SPLIT if split else WHOLE:
        text = shipped(name).replace(PROGRAM, str(program))
        if split:
            text = text.replace("Service=tocsin.service", "Service=tocsin-hub.service")
        yield InstalledFile(UNITS / name, text)
    for name, path in FRAGMENTS.items():
        yield InstalledFile(path, shipped(name))


def shipped(name: str) -> str:
    """Return the text of a file that comes with the program."""
    return (directory() / name).read_text(encoding="utf-8")


def directory() -> Path:
    """Return the folder of the files: beside this module if installed, in the project otherwise."""
    installed = Path(__file__).with_name("systemd_units")
    return installed if installed.is_dir() else Path(__file__).parents[3] / "systemd"


def this_program() -> Path:
    """Return the path of the `tocsin` in this Python environment."""
    return Path(sys.executable).with_name("tocsin")


def check_path(program: Path) -> None:
    """Raise Unusable if a unit cannot name a program at this path."""
    if not re.fullmatch(r"/[\w./+@-]+", str(program)):
        raise Unusable(
            f"the program's path {program} must be absolute, with only letters, digits and ./+@-_"
        )


def check_program(program: Path) -> None:
    """Raise Unusable if the units cannot start this program on this machine."""
    for path in (program, program.resolve(), program.with_name("python").resolve()):
        if any(path.is_relative_to(hidden) for hidden in HIDDEN):
            raise Unusable(
                f"the units cannot see {path}, because they hide {', '.join(HIDDEN)}: "
                "install tocsin elsewhere, such as in /opt/tocsin"
            )
    if not program.exists():
        raise Unusable(f"there is no program {program}: name it with --program")
