"""The survey of an imported history: its commits, their authors, and its large files.

Run as `python -m worker.imports.survey REPOSITORY BYTES AUTHORS`. It writes the authors to a file,
each as a line of JSON, the rest as JSON to standard output, and its progress to standard error.
"""

import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from worker.imports.git_objects import (
    IMPORTED_REFS,
    NO_MEMORY,
    UnsupportedHistory,
    authors_of,
    commits,
    read_lines,
    refs,
    start_git,
    tags,
)

MAX_AUTHORS = 100_000
MOST_FILES = 1_000
MOST_REFS = 200
# In characters. The API accepts names and addresses of this length.
LONGEST_NAME = 320
LONGEST_PATH = 1_000
REPORT_EVERY = 500
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


def author_digest(name: bytes, email: bytes) -> str:
    """Return the digest that identifies a name and address."""
    return hashlib.sha256(name + b"\0" + email).hexdigest()[:40]


def printable(text: bytes, longest: int = LONGEST_NAME) -> str:
    """Return the beginning of bytes of any encoding as text, without control characters."""
    try:
        found = text.decode()
    except UnicodeDecodeError:
        found = text.decode("latin-1")
    return UNPRINTABLE.sub("", found)[:longest]


class SurveyedHistory(NamedTuple):
    """The number of commits, digest, name and address of each author, and the large files."""

    commits: int
    authors: list[tuple[str, str, str]]
    large: dict[str, object]


def survey(
    repo: Path,
    larger_than: int,
    report: Callable[[int], None],
    *,
    max_authors: int = MAX_AUTHORS,
) -> SurveyedHistory:
    """Return the number of commits, the authors and the large files.

    Raises UnsupportedHistory if there are more than `max_authors` authors.
    """
    authors = Authors(max_authors)
    count = 0
    for count, (_, content) in enumerate(commits(repo), 1):
        authors.add(content)
        if count % REPORT_EVERY == 0:
            report(count)
    for _, content in tags(repo):
        authors.add(content)
    return SurveyedHistory(count, authors.found, large_files(repo, larger_than))


class Authors:
    """The authors of a history. Long names are cut, because all of them are kept in memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_digest: dict[str, tuple[str, str]] = {}

    def add(self, content: bytes) -> None:
        """Add the authors of a commit or tag. Raises UnsupportedHistory if there are too many."""
        for name, email in authors_of(content):
            digest = author_digest(name, email)
            if digest not in self._by_digest:
                self._by_digest[digest] = printable(name), printable(email)
                if len(self._by_digest) > self._most:
                    raise UnsupportedHistory(f"its commits have more than {self._most} authors")

    @property
    def found(self) -> list[tuple[str, str, str]]:
        """Return digest, name and address of each author."""
        return [(digest, *one) for digest, one in self._by_digest.items()]


def large_files(repo: Path, larger_than: int) -> dict[str, object]:
    """Return the number and total size of files larger than this many bytes, and a list of the
    first.
    """
    form = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
    sizes: dict[str, int] = {}
    with start_git(repo, "cat-file", "--batch-all-objects", "--unordered", form) as listing:
        for line in read_lines(listing):
            oid, kind, size = line.decode().split()
            if kind == "blob" and int(size) > larger_than:
                sizes[oid] = int(size)
    some = sorted(sizes, key=lambda oid: -sizes[oid])[:MOST_FILES]
    places = _places(repo, set(some)) if some else {}
    files = [(*places.get(oid, ("", "")), oid, sizes[oid]) for oid in some]
    return {"count": len(sizes), "size": sum(sizes.values()), "files": files}


def _places(repo: Path, wanted: set[str]) -> dict[str, tuple[str, str]]:
    """Return a ref and a path for each of these files, as far as they are found."""
    found: dict[str, tuple[str, str]] = {}
    for ref in [*refs(repo, IMPORTED_REFS)][:MOST_REFS]:
        named = f"refs/{ref.removeprefix(IMPORTED_REFS)}".encode("utf-8", "surrogateescape")
        name = printable(named, LONGEST_PATH)
        with start_git(repo, "rev-list", "--objects", ref, "--") as listing:
            for line in read_lines(listing):
                oid, _, path = line.partition(b" ")
                if oid.decode() in wanted - found.keys():
                    found[oid.decode()] = name, printable(path, LONGEST_PATH)
        if len(found) == len(wanted):
            break
    return found


def _report(count: int) -> None:
    print(f"commits {count}", file=sys.stderr, flush=True)


def _run(repo: Path, larger_than: int, authors: Path) -> None:
    found = survey(repo, larger_than, _report)
    with authors.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(one, ensure_ascii=False)}\n" for one in found.authors)
    said = {"commits": found.commits, "authors": len(found.authors), "large": found.large}
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    try:
        _run(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
    except UnsupportedHistory as problem:
        sys.exit(f"error: {problem}")
    except MemoryError:
        sys.exit(NO_MEMORY)
