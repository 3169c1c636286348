"""What `tocsin doctor` finds on the machine: permissions, clock, disk, limits."""

import ctypes
import os
import pwd
import resource
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from hub.cli.operate.diagnosis import Finding, bad, good, warning
from hub.cli.service.configuration import Settings
from store.database.sqlite import file

MB = 1024 * 1024
# Less than this, and the database soon stops.
LEAST_FREE = 64 * MB
LARGE_LOG = 256 * MB
LEAST_INODES = 1_000
# Nobody runs this before it was written.
EARLIEST = 1_760_000_000
# Seconds by which two clocks may differ.
APART = 2.0
# Descriptors beside those of deliveries: the database's, and clients'.
BESIDE = 512
STA_UNSYNC, TIME_ERROR = 0x40, 5


def check_permissions(settings: Settings, database: Path | None, key: Path) -> Iterator[Finding]:
    """That nobody else reads what is kept, and that whoever works on it may."""
    about, folder = "permissions", settings.data_dir
    owner = folder.stat().st_uid
    found = [(folder, 0o700), *((path, 0o600) for path in _files(database)), (key, 0o600)]
    fine, private = True, not stat.S_IMODE(folder.stat().st_mode) & 0o077
    for path, wanted in found:
        if not path.exists():
            continue
        status = path.stat()
        # Within a directory that nobody else may enter a file may look as it likes.
        hidden = private and path.parent == folder and path != key
        if stat.S_IMODE(status.st_mode) & 0o077 and not hidden:
            fine = False
            grave = bad if path == key else warning
            yield grave(about, f"others may use {path}", f"chmod {wanted:o} {path}")
        if path not in (folder, key) and status.st_uid != owner:
            fine = False
            name = _name(owner)
            yield bad(
                about,
                f"{path} does not belong to {name}, as the data directory does",
                f"chown {name}: {path}",
            )
    if os.geteuid() not in (0, owner):
        fine = False
        name = _name(owner)
        yield warning(about, f"{folder} is {name}'s", f"run this as root, or as {name}")
    if fine:
        yield good(about, f"{folder} is for {_name(owner)} alone")


def _files(database: Path | None) -> list[Path]:
    if database is None:
        return []
    return [database, *(database.with_name(database.name + end) for end in ("-wal", "-shm"))]


def _name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def check_clocks(settings: Settings) -> Iterator[Finding]:
    """That the time is right, as far as the machine can tell."""
    about, now = "clock", time.time()
    if now < EARLIEST:
        yield bad(about, f"it is {time.ctime(now)}, says the clock", "timedatectl set-ntp true")
        return
    apart = _file_system_ahead(settings.data_dir)
    if apart is not None and abs(apart) > APART:
        yield warning(
            about,
            f"the file system of {settings.data_dir} is {apart:+.0f} s from this machine's clock",
            "set the clock of the machine that serves the file system",
        )
    synchronised = ask_timedatectl()
    if synchronised is None:
        synchronised = ask_kernel()
    if synchronised is False:
        yield warning(about, "it is not kept right by any time service", "timedatectl set-ntp true")
    else:
        yield good(about, "it is kept right" if synchronised else "nothing is wrong with it")


def _file_system_ahead(folder: Path) -> float | None:
    try:
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_mtime - time.time()
    except OSError:
        return None


def ask_timedatectl() -> bool | None:
    """Return whether systemd says that the clock is synchronized, or None if it does not say."""
    program = shutil.which("timedatectl")
    if program is None:
        return None
    try:
        asked = [program, "show", "--property=NTPSynchronized", "--value"]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=5, check=False)  # noqa: S603 - the command stands above
    except (OSError, subprocess.TimeoutExpired):
        return None
    return {"yes": True, "no": False}.get(done.stdout.strip())


def ask_kernel() -> bool | None:
    """Return whether the kernel says that the clock is synchronized, or None."""
    # struct timex: `status` is its sixth long's place, and it is larger on no platform.
    timex = (ctypes.c_long * 64)()
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(timex)
    except (AttributeError, OSError):
        return None
    if state < 0:
        return None
    return state != TIME_ERROR and not ctypes.c_int(timex[5]).value & STA_UNSYNC


def check_disk(settings: Settings, database: Path | None) -> Iterator[Finding]:
    """That there is room, also for a copy of the database."""
    about, folder = "disk", settings.data_dir
    found = os.statvfs(folder)
    free, total = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
    size = file.size(database) if database is not None and database.exists() else 0
    room = f"{free // MB} MB are free in {folder}"
    remedy = "make room there: `tocsin settings` tells how long what is kept (keep_...)"
    if free < LEAST_FREE:
        yield bad(about, room, remedy)
    elif free < max(total // 20, size + LEAST_FREE):
        copy = f", and a copy of the database takes {size // MB} MB" if size else ""
        yield warning(about, f"{room}{copy}", remedy)
    else:
        yield good(about, room)
    if found.f_files and found.f_favail < LEAST_INODES:
        yield bad(about, f"{found.f_favail} files more can be made in {folder}", remedy)
    log = None if database is None else database.with_name(f"{database.name}-wal")
    if log is not None and log.exists() and log.stat().st_size > LARGE_LOG:
        yield warning(
            about,
            f"the write-ahead log has grown to {log.stat().st_size // MB} MB",
            "end what reads for long (`tocsin sql`, a backup), or restart tocsin",
        )


def check_descriptors(settings: Settings) -> Iterator[Finding]:
    """That there may be as many connections as the settings want."""
    about = "descriptors"
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.max_in_flight + BESIDE
    if limit != resource.RLIM_INFINITY and limit < wanted:
        yield warning(
            about,
            f"this user may have {limit} files and connections open, and max_in_flight is"
            f" {settings.max_in_flight}",
            f"`ulimit -n {wanted}` where tocsin is started, or LimitNOFILE= in its unit",
        )
    else:
        yield good(about, f"{limit} files and connections may be open here")


def check_programs(settings: Settings) -> Iterator[Finding]:
    """That what imports are done with is there."""
    about = "programs"
    if not settings.imports:
        yield good(about, "no others are needed")
    elif shutil.which("git") is None:
        remedy = "install git where the worker runs, or set imports = false"
        yield warning(about, "source imports need git, which is not here", remedy)
    else:
        yield good(about, "git is here, for source imports")
