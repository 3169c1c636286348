"""Readers for commits, tags and refs of an imported history.

The history is in a bare repository under `refs/tocsin/source/`, as it was fetched. It is read and
rewritten by separate programs, which do not block the worker and can be killed like git.
"""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

IMPORTED_REFS = "refs/tocsin/source/"
OWN_REFS = "refs/tocsin/"
MAX_OBJECT_BYTES = 64 * 1024 * 1024
NO_MEMORY = "error: the history needs more memory than the setting import_max_memory allows"
# The name ends before the first `<`: otherwise the time would grow with the square of its length.
PERSON = re.compile(rb"(author|committer|tagger) ([^<]*?) ?<([^>\n]*)>(.*)", re.DOTALL)


class UnsupportedHistory(Exception):
    """The history has a size or form that is not supported."""


def start_git(repo: Path, *command: str, stdin: int | IO[bytes] | None = None) -> "Process":
    """Start a git command on a repository. Its output is read from the process."""
    return subprocess.Popen(  # noqa: S603 - git with git's own output, and no shell
        ["git", f"--git-dir={repo}", *command],  # noqa: S607 - PATH says where git is
        stdin=stdin,
        stdout=subprocess.PIPE,
    )


Process = subprocess.Popen[bytes]


def run_git(repo: Path, *command: str, stdin: bytes = b"") -> bytes:
    """Run a git command with this input and return its output. Raises UnsupportedHistory if it
    fails.
    """
    with start_git(repo, *command, stdin=subprocess.PIPE) as process:
        said, _ = process.communicate(stdin)
    check_exit(process)
    return said


def read_lines(process: Process) -> Iterator[bytes]:
    assert process.stdout is not None
    for line in process.stdout:
        yield line.rstrip(b"\n")


def lines_of(said: str) -> list[str]:
    """Return the lines of a program's output.

    `splitlines` also splits at other characters, such as U+2028, which may be in a branch's name.
    """
    return said.removesuffix("\n").split("\n") if said else []


def check_exit(process: Process) -> None:
    """Raise UnsupportedHistory if the process has failed."""
    if process.returncode:
        raise UnsupportedHistory("git could not read or write the history")


def objects(
    repo: Path, *selected: str, max_bytes: int = MAX_OBJECT_BYTES
) -> Iterator[tuple[str, bytes]]:
    """Yield hash and content of each object that git lists with these arguments.

    Raises UnsupportedHistory if one is larger than `max_bytes`.
    """
    with (
        start_git(repo, *selected) as listing,
        start_git(repo, "cat-file", "--batch", stdin=listing.stdout) as reading,
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
        content = stream.read(int(size))
        stream.read(1)
        yield oid, content


def commits(repo: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every commit, parents first."""
    order = ("rev-list", "--topo-order", "--reverse", f"--glob={IMPORTED_REFS.rstrip('/')}")
    yield from objects(repo, *order)


def refs(repo: Path, place: str) -> dict[str, tuple[str, str]]:
    """Return the refs below a place: name to hash and kind."""
    form = "--format=%(refname) %(objectname) %(objecttype)"
    said = run_git(repo, "for-each-ref", form, place).decode("utf-8", "surrogateescape")
    parted = (line.rsplit(" ", 2) for line in lines_of(said))
    return {name: (oid, kind) for name, oid, kind in parted}


def tags(repo: Path, *, max_bytes: int = MAX_OBJECT_BYTES) -> Iterator[tuple[str, bytes]]:
    """Yield every annotated tag. A tag that another tag refers to comes first.

    Raises UnsupportedHistory if one is larger than `max_bytes`.
    """
    known: set[str] = set()
    with start_git(repo, "cat-file", "--batch", stdin=subprocess.PIPE) as reading:
        read = _reader(reading, max_bytes)
        for oid, kind in refs(repo, IMPORTED_REFS).values():
            # Contents are read twice, because all of them together may be very large.
            inner = oid if kind == "tag" else None
            chain = []
            while inner is not None and inner not in known:
                known.add(inner)
                chain.append(inner)
                inner = _tag_within(read(inner))
            for each in reversed(chain):
                yield each, read(each)
    check_exit(reading)


def _reader(reading: Process, max_bytes: int) -> Callable[[str], bytes]:
    """Return a function that reads an object with a running `git cat-file --batch`."""
    assert reading.stdin is not None
    assert reading.stdout is not None
    asked, contents = reading.stdin, _contents(reading.stdout, max_bytes)

    def read(oid: str) -> bytes:
        asked.write(f"{oid}\n".encode())
        asked.flush()
        return next(contents)[1]

    return read


def _tag_within(content: bytes) -> str | None:
    lines = content.split(b"\n", 2)
    return lines[0].partition(b" ")[2].decode() if lines[1] == b"type tag" else None


def authors_of(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the names and addresses of the people in the head of a commit or tag."""
    for line in content.partition(b"\n\n")[0].split(b"\n"):
        person = PERSON.fullmatch(line)
        if person is not None:
            yield person[2], person[3]
