"""Reads commits, tags and refs of an imported history.

It is in a bare repository under `refs/tocsin/source/`, as it came. Whoever reads or rewrites it is
a program of its own, so that it is in nobody's way, and is ended as git is.
"""

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

IMPORTED_REFS = "refs/tocsin/source/"
OWN_REFS = "refs/tocsin/"
MAX_OBJECT_BYTES = 64 * 1024 * 1024
PERSON = re.compile(rb"(author|committer|tagger) (.*?) ?<([^>\n]*)>(.*)", re.DOTALL)


class UnsupportedHistory(Exception):
    """The history is of a size or form that is not taken."""


def start_git(repo: Path, *command: str, given: int | IO[bytes] | None = None) -> "Process":
    """A command of git on a repository, that is read from."""
    return subprocess.Popen(  # noqa: S603 - of git, with what git gave, and no shell
        ["git", f"--git-dir={repo}", *command],  # noqa: S607 - where it is, PATH says
        stdin=given,
        stdout=subprocess.PIPE,
    )


Process = subprocess.Popen[bytes]


def run_git(repo: Path, *command: str, given: bytes = b"") -> bytes:
    """What such a command says, given this. Unusual where it fails."""
    with start_git(repo, *command, given=subprocess.PIPE) as process:
        said, _ = process.communicate(given)
    check_exit(process)
    return said


def read_lines(process: Process) -> Iterator[bytes]:
    """The lines that it says."""
    assert process.stdout is not None
    for line in process.stdout:
        yield line.rstrip(b"\n")


def check_exit(process: Process) -> None:
    """Unusual for one that has failed."""
    if process.returncode:
        raise UnsupportedHistory("git could not read or write the history")


def objects(
    repo: Path, *selected: str, max_bytes: int = MAX_OBJECT_BYTES
) -> Iterator[tuple[str, bytes]]:
    """Hash and content of each object that git lists with these arguments. UnsupportedHistory if
    one is larger than `max_bytes`.
    """
    with (
        start_git(repo, *selected) as listing,
        start_git(repo, "cat-file", "--batch", given=listing.stdout) as reading,
    ):
        assert listing.stdout is not None
        assert reading.stdout is not None
        listing.stdout.close()
        yield from _contents(reading.stdout, max_bytes)
    check_exit(listing)
    check_exit(reading)


def _contents(stream: IO[bytes], max_bytes: int) -> Iterator[tuple[str, bytes]]:
    for line in stream:
        oid, _, size = line.decode().split()
        if int(size) > max_bytes:
            raise UnsupportedHistory(f"{oid} is a commit or tag of {size} bytes")
        yield oid, stream.read(int(size))
        stream.read(1)


def commits(repo: Path) -> Iterator[tuple[str, bytes]]:
    """Every commit, those that others come from first."""
    order = ("rev-list", "--topo-order", "--reverse", f"--glob={IMPORTED_REFS.rstrip('/')}")
    yield from objects(repo, *order)


def refs(repo: Path, place: str) -> dict[str, tuple[str, str]]:
    """The refs below a place: name to hash and kind."""
    form = "--format=%(refname) %(objectname) %(objecttype)"
    said = run_git(repo, "for-each-ref", form, place).decode("utf-8", "surrogateescape")
    parted = (line.rsplit(" ", 2) for line in said.splitlines())
    return {name: (oid, kind) for name, oid, kind in parted}


def tags(repo: Path) -> list[tuple[str, bytes]]:
    """Every tag that is an object, those that others are of first."""
    found: list[tuple[str, bytes]] = []
    wanted = [oid for oid, kind in refs(repo, IMPORTED_REFS).values() if kind == "tag"]
    while wanted:
        read = read_objects(repo, dict.fromkeys(wanted))
        found = [*read, *(one for one in found if one not in read)]
        wanted = [inner for _, content in read if (inner := _tag_within(content))]
    return found


def _tag_within(content: bytes) -> str | None:
    lines = content.split(b"\n", 2)
    return lines[0].partition(b" ")[2].decode() if lines[1] == b"type tag" else None


def read_objects(repo: Path, oids: Iterable[str]) -> list[tuple[str, bytes]]:
    """These objects."""
    listed = "".join(f"{oid}\n" for oid in oids).encode()
    said = run_git(repo, "cat-file", "--batch", given=listed)
    found, at = [], 0
    while at < len(said):
        end = said.index(b"\n", at)
        oid, _, size = said[at:end].decode().split()
        found.append((oid, said[end + 1 : end + 1 + int(size)]))
        at = end + 2 + int(size)
    return found


def authors_of(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Who made a commit or tag: names and addresses."""
    for line in content.partition(b"\n\n")[0].split(b"\n"):
        person = PERSON.fullmatch(line)
        if person is not None:
            yield person[2], person[3]
