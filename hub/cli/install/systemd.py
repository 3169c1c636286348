"""`tocsin systemd`: installs the systemd units and removes them."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import click

from hub.cli.console.arguments import PATH, PathType
from hub.cli.console.grammar import noun
from hub.cli.install import systemd_files as files
from store.crypto import file_copy
from store.crypto.vault import open_vault
from store.errors import Unprepared, Unusable, from_os_error

RUNNING = Path("/run/systemd/system")
READERS = {
    "tocsin.sysusers": ("systemd-sysusers",),
    "tocsin.tmpfiles": ("systemd-tmpfiles", "--create"),
}
"""The commands that apply the files of systemd_files.FRAGMENTS."""

PREFIX = click.option(
    "--prefix",
    type=PathType(path_type=Path, file_okay=False),
    help="Root of the target system, for packages and images; nothing is started or stopped.",
)


@noun(examples=["sudo tocsin systemd install", "sudo tocsin systemd install --split"], default="")
def systemd() -> None:
    """Install tocsin as a systemd service, or remove it."""


@systemd.command(examples=["sudo tocsin systemd install", "sudo tocsin systemd install --split"])
@click.option("--split", is_flag=True, help="Run hub and worker as separate services.")
@PREFIX
@click.option(
    "--program",
    type=PATH,
    help="The `tocsin` to run.  [default: this one]",
)
def install(split: bool, prefix: Path | None, program: Path | None) -> None:
    """Install units, settings and a key. Files in /etc/tocsin that exist already stay.

    The service is not started: the command prints how to start it. If services of the other kind,
    with or without --split, are installed, they are stopped and removed.
    """
    program = program or files.this_program()
    files.check_path(program)
    if prefix is None:
        files.check_program(program)
    root = prefix or Path("/")
    wanted = list(files.units(program, split=split))
    _leave({one.path.name for one in wanted}, root, live=_live(prefix))
    try:
        for one in wanted:
            _write(root / one.path, one.text, 0o644)
        for name, (path, mode) in files.OWN.items():
            if not (root / path).exists():
                _write(root / path, files.shipped(name), mode)
        _key(root)
    except OSError as error:
        raise from_os_error(f"cannot write {error.filename or root}", error) from None
    if _live(prefix):
        _load()
    services = " ".join(one.path.name for one in wanted if one.path.suffix == ".service")
    click.echo(f"\nTo start it, now and at every boot:\n\n  systemctl enable --now {services}")
    watched = "\n".join(f"  {files.directory() / name}" for name in files.FOR_PROMETHEUS)
    click.echo(f"\nTo watch it, alerts for Prometheus and a dashboard for Grafana:\n\n{watched}")


@systemd.command(examples=["sudo tocsin systemd uninstall"])
@PREFIX
def uninstall(prefix: Path | None) -> None:
    """Stop the service and remove its units. Settings, key and data stay."""
    root = prefix or Path("/")
    live = _live(prefix)
    _leave(set(), root, live=live)
    _remove([root / path for path in files.FRAGMENTS.values()])
    if live:
        _run("systemctl", "daemon-reload")
    kept = [root / path for path in (files.KEY.parent, files.STATE) if (root / path).exists()]
    for path in kept:
        click.echo(f"stays    {path}")


def _live(prefix: Path | None) -> bool:
    """Return whether the running system is the target."""
    return prefix is None and RUNNING.is_dir()


def _leave(wanted: set[str], root: Path, *, live: bool) -> None:
    """Stop and remove the units that are not in `wanted`."""
    unwanted = [
        root / files.UNITS / name
        for name in files.EVERY_UNIT
        if name not in wanted and (root / files.UNITS / name).exists()
    ]
    if live and unwanted:
        _run("systemctl", "disable", "--now", *(path.name for path in unwanted))
    _remove(unwanted)


def _load() -> None:
    for name, path in files.FRAGMENTS.items():
        _run(*READERS[name], f"/{path}")
    _run("systemctl", "daemon-reload")


def _key(root: Path) -> None:
    """Install the key: copy the key of existing data, or make a new one."""
    path, known = root / files.KEY, root / files.STATE / files.KEY.name
    if path.exists():
        return
    if known.exists():
        _write(path, known.read_text(encoding="ascii"), 0o600)
        return
    open_vault(path, create=True)
    click.echo(f"made     {path}: keep a copy of it with the backups")


def _write(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        click.echo(f"same     {path}")
        return
    _replace(path.resolve(), text, mode)
    click.echo(f"written  {path}")


def _replace(path: Path, text: str, mode: int) -> None:
    """Replace a file in one step. After a full disk, the next installation would keep a part."""
    part = path.with_name(f".{path.name}.part")
    with file_copy.temporary_file(part, text.encode()):
        part.chmod(mode)
        part.replace(path)


def _remove(paths: Iterable[Path]) -> None:
    """Remove the files that exist."""
    try:
        for path in paths:
            if path.exists():
                path.unlink()
                click.echo(f"removed  {path}")
    except OSError as error:
        raise from_os_error(f"cannot remove {error.filename}", error) from None


def _run(*command: str) -> None:
    program = shutil.which(command[0])
    if program is None:
        raise Unprepared(f"there is no {command[0]} here")
    done = subprocess.run([program, *command[1:]], check=False, capture_output=True, text=True)  # noqa: S603 - the commands stand above
    if done.returncode:
        raise Unusable(f"{' '.join(command)} failed: {done.stderr.strip()}")
