"""The checks of `tocsin doctor` on the machine: permissions, clock, disk, limits."""

import ctypes
import errno
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
from hub.cli.service.daemon_record import file_limits
from store.backup import restore
from store.database.sqlite import file
from store.database.sqlite.lost_content import log_path

MB = 1024 * 1024
# With less free space than this, the database soon stops.
LEAST_FREE = 64 * MB
LARGE_LOG = 256 * MB
LEAST_INODES = 1_000
# The clock is wrong if it shows a time before this program was written.
EARLIEST = 1_760_000_000
# Seconds by which two clocks may differ.
APART = 2.0
# File descriptors for the database and for clients, beside those for deliveries.
BESIDE = 512
STA_UNSYNC, TIME_ERROR = 0x40, 5


def check_permissions(settings: Settings, database: Path | None, key: Path) -> Iterator[Finding]:
    """Check that only the owner reads the data, and that this user may change it."""
    about, folder = "permissions", settings.data_dir
    if not folder.is_dir():
        yield bad(about, f"data_dir names {folder}, which is no directory", "name a directory")
        return
    if key.is_dir():
        yield bad(about, f"key_file names {key}, which is a directory", "name a file")
        return
    owner = folder.stat().st_uid
    found = [*_wrong_rights(folder, owner, [*database_files(database), key], key)]
    if os.geteuid() not in (0, owner):
        name = _name(owner)
        found.append(warning(about, f"{folder} is {name}'s", f"run this as root, or as {name}"))
    yield from found or [good(about, f"{folder} is for {_name(owner)} alone")]


def _wrong_rights(folder: Path, owner: int, files: list[Path], key: Path) -> Iterator[Finding]:
    private = not stat.S_IMODE(folder.stat().st_mode) & 0o077
    for path in [folder, *(path for path in files if path.exists())]:
        status = path.stat()
        # If nobody else may enter the directory, the modes of its files do not matter.
        hidden = private and path.parent == folder and path != key
        if stat.S_IMODE(status.st_mode) & 0o077 and not hidden:
            grave = bad if path == key else warning
            mode = "700" if path == folder else "600"
            yield grave("permissions", f"others may use {path}", f"chmod {mode} {path}")
        if path not in (folder, key) and status.st_uid != owner:
            name = _name(owner)
            yield bad(
                "permissions",
                f"{path} does not belong to {name}, as the data directory does",
                f"chown {name}: {path}",
            )


def database_files(database: Path | None) -> list[Path]:
    """Return the paths of a SQLite database and of the files beside it."""
    if database is None:
        return []
    return [database.with_name(database.name + end) for end in restore.ENDS]


def _name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def check_clocks(settings: Settings) -> Iterator[Finding]:
    """Check that the clock is right, as far as the machine can tell."""
    about, now = "clock", time.time()
    if now < EARLIEST:
        yield bad(about, f"the clock shows {time.ctime(now)}", synchronize())
        return
    apart = _file_system_ahead(settings.data_dir)
    if apart is not None and abs(apart) > APART:
        yield warning(
            about,
            f"the file system of {settings.data_dir} is {apart:+.0f} s from this machine's clock",
            "set the clock of the machine that serves the file system",
        )
    synchronized = ask_timedatectl()
    if synchronized is None:
        synchronized = ask_kernel()
    if synchronized is False:
        yield warning(about, "no time service keeps it synchronized", synchronize())
    else:
        yield good(about, "it is synchronized" if synchronized else "nothing is wrong with it")


def synchronize() -> str:
    """Return the remedy for a clock that is wrong. A container has its host's clock."""
    if shutil.which("timedatectl") is not None:
        return "timedatectl set-ntp true"
    return "run a time service such as chrony on this machine, or on the host of this container"


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
    """Return whether the kernel says that the clock is synchronized, or None if it does not say."""
    # struct timex: `status` is at the sixth long. No platform has a larger struct than this buffer.
    timex = (ctypes.c_long * 64)()
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(timex)
    except (AttributeError, OSError):
        return None
    if state < 0:
        return None
    return state != TIME_ERROR and not ctypes.c_int(timex[5]).value & STA_UNSYNC


def check_disk(settings: Settings, database: Path | None) -> Iterator[Finding]:
    """Check that there is free space, enough for a copy of the database, and free inodes.

    Also check that files can be written, and that the write-ahead log of SQLite is not large.
    """
    about, folder = "disk", settings.data_dir
    if _is_read_only(folder):
        yield bad(
            about,
            f"the file system of {folder} is read-only",
            "see the kernel's log (`dmesg`), repair the disk, and mount it for writing again",
        )
    found = os.statvfs(folder)
    free, total = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
    size = file.size(database) if database is not None and database.exists() else 0
    room = f"{free // MB} MB are free in {folder}"
    remedy = "make room there: the settings keep_... limit how long data is kept"
    if free < LEAST_FREE:
        yield bad(about, room, remedy)
    elif free < max(total // 20, size + LEAST_FREE):
        copy = f", and a copy of the database takes {size // MB} MB" if size else ""
        yield warning(about, f"{room}{copy}", remedy)
    else:
        yield good(about, room)
    if found.f_files and found.f_favail < LEAST_INODES:
        yield bad(about, f"only {found.f_favail} more files can be created in {folder}", remedy)
    log = None if database is None else log_path(database)
    if log is not None and log.exists() and log.stat().st_size > LARGE_LOG:
        yield warning(
            about,
            f"the write-ahead log has grown to {log.stat().st_size // MB} MB",
            "end long reads (`tocsin sql`, a backup), or restart tocsin",
        )


def _is_read_only(folder: Path) -> bool:
    """Return whether the file system refuses all writes. Linux mounts it so after an error.

    The flags of a mount do not show that it was an error, so a file without a name is created.
    """
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600))
    except OSError as error:
        return error.errno == errno.EROFS
    return False


def check_descriptors(settings: Settings) -> Iterator[Finding]:
    """Check that the limit on open files allows `max_in_flight` deliveries and BESIDE others.

    The limit is the running daemon's, which its unit may set, or else the one of this user.
    """
    about = "descriptors"
    theirs, (own, _) = file_limits(settings.data_dir), resource.getrlimit(resource.RLIMIT_NOFILE)
    finite = [limit for limit in theirs or [own] if limit != resource.RLIM_INFINITY]
    has = f"{'the daemon' if theirs else 'this user'} may have"
    wanted = settings.max_in_flight + BESIDE
    if finite and min(finite) < wanted:
        yield warning(
            about,
            f"{has} {min(finite)} files and connections open, and max_in_flight is"
            f" {settings.max_in_flight}",
            f"`ulimit -n {wanted}` where tocsin is started, or LimitNOFILE= in its unit",
        )
    else:
        many = min(finite, default="any number of")
        yield good(about, f"{has} {many} files and connections open")


def check_programs(settings: Settings) -> Iterator[Finding]:
    """Check that the programs for source imports are installed."""
    about = "programs"
    if not settings.imports:
        yield good(about, "no other programs are needed")
    elif shutil.which("git") is None:
        remedy = "install git where the worker runs, or set imports = false"
        yield warning(about, "source imports need git, which is not installed", remedy)
    else:
        yield good(about, "git is installed, for source imports")
