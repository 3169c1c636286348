"""Rewriting of an imported history with other names of authors.

Only commits and tags change. In them, only names, references to rewritten objects, and signatures
that would be invalid change. Objects without a changed name or reference keep their hashes.

Run as `python -m worker.imports.rewrite REPOSITORY`. It reads the names as JSON from standard
input.
"""

import hashlib
import json
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from worker.imports.git_objects import (
    IMPORTED_REFS,
    NO_MEMORY,
    OWN_REFS,
    PERSON,
    UnsupportedHistory,
    check_exit,
    commits,
    refs,
    run_git,
    start_git,
    tags,
)
from worker.imports.survey import author_digest

SIGNATURE = re.compile(rb"^-----BEGIN (?:PGP|SSH|SIGNED)[^\n]*-----$", re.MULTILINE)
SIGNED = (b"gpgsig ", b"gpgsig-sha256 ")
COMMIT, TAG = 1, 4

Renamed = Mapping[str, tuple[str, str]]


class Pack:
    """New objects in a file, in the form of git's packs."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._written: set[bytes] = set()

    def add(self, kind: int, content: bytes, oid: bytes) -> None:
        """Add an object, unless the pack has it."""
        if oid in self._written:
            return
        self._written.add(oid)
        size = len(content)
        head = [kind << 4 | size & 15]
        size >>= 4
        while size:
            head[-1] |= 0x80
            head.append(size & 0x7F)
            size >>= 7
        self._file.write(bytes(head) + zlib.compress(content, 1))

    def index_into(self, repo: Path, algorithm: str) -> None:
        """Add the objects to the repository."""
        if not self._written:
            return
        self._file.seek(0)
        checksum = hashlib.new(algorithm)
        with start_git(repo, "index-pack", "--stdin", stdin=subprocess.PIPE) as indexing:
            assert indexing.stdin is not None
            part = b"PACK" + (2).to_bytes(4) + len(self._written).to_bytes(4)
            while part:
                checksum.update(part)
                indexing.stdin.write(part)
                part = self._file.read(1 << 20)
            indexing.stdin.write(checksum.digest())
            indexing.stdin.close()
            indexing.wait()
        check_exit(indexing)


class Rewriter:
    """A rewriter of commits and tags. Objects that others refer to must come first."""

    def __init__(self, renamed: Renamed, pack: Pack, algorithm: str) -> None:
        self._renamed = renamed
        self._pack = pack
        self._algorithm = algorithm
        self.now: dict[bytes, bytes] = {}
        """The new hashes of rewritten objects, by their former hashes."""

    def take(self, kind: int, oid: str, content: bytes) -> None:
        """Rewrite an object, if it has to change."""
        head, gap, message = content.partition(b"\n\n")
        lines = head.split(b"\n")
        changed = [self._line(line, lines) for line in lines]
        if changed == lines:
            return
        if kind == TAG:
            message = SIGNATURE.split(message, maxsplit=1)[0]
        made = b"\n".join(_unsigned(changed)) + gap + message
        word = {COMMIT: b"commit", TAG: b"tag"}[kind]
        new = hashlib.new(self._algorithm, b"%b %d\0" % (word, len(made)) + made).digest()
        self.now[bytes.fromhex(oid)] = new
        self._pack.add(kind, made, new)

    def _line(self, line: bytes, lines: list[bytes]) -> bytes:
        word, _, rest = line.partition(b" ")
        if word in (b"parent", b"object"):
            new = self.now.get(bytes.fromhex(rest.decode()))
            return line if new is None else b"%b %b" % (word, new.hex().encode())
        person = PERSON.fullmatch(line)
        found = None if person is None else self._renamed.get(author_digest(person[2], person[3]))
        if person is None or found is None:
            return line
        name, email = (_encoded(text, lines) for text in found)
        return b"%b %b <%b>%b" % (person[1], name, email, person[4])


def _encoded(text: str, lines: list[bytes]) -> bytes:
    """Encode a name in the encoding that the commit declares. If that fails, use UTF-8."""
    given = next((line[9:] for line in lines if line.startswith(b"encoding ")), b"utf-8")
    try:
        return text.encode(given.decode())
    except (LookupError, UnicodeError):
        return text.encode()


def _unsigned(lines: list[bytes]) -> Iterator[bytes]:
    within = False
    for line in lines:
        within = line.startswith(SIGNED) or (within and line.startswith(b" "))
        if not within:
            yield line


def rewrite(repo: Path, renamed: Renamed) -> dict[str, object]:
    """Make `refs/` hold the history with these names, and nothing else. Return how many objects
    changed.
    """
    imported = refs(repo, IMPORTED_REFS)
    width = max((len(oid) for oid, _ in imported.values()), default=40)
    algorithm = "sha1" if width == 40 else "sha256"
    with TemporaryFile(dir=repo) as file:
        pack = Pack(file)
        rewriting = Rewriter(renamed, pack, algorithm)
        for kind, read in ((COMMIT, commits), (TAG, tags)) if renamed else ():
            for oid, content in read(repo):
                rewriting.take(kind, oid, content)
        pack.index_into(repo, algorithm)
    _point(repo, imported, rewriting.now)
    return {"rewritten": len(rewriting.now)}


def _point(repo: Path, imported: Mapping[str, tuple[str, str]], now: Mapping[bytes, bytes]) -> None:
    wanted = {}
    for name, (oid, _) in imported.items():
        if name.startswith(IMPORTED_REFS + OWN_REFS.removeprefix("refs/")):
            continue  # refs that the source server has made for an import of its own
        new = now.get(bytes.fromhex(oid))
        wanted["refs/" + name.removeprefix(IMPORTED_REFS)] = oid if new is None else new.hex()
    there = [name for name in refs(repo, "refs/") if not name.startswith(OWN_REFS)]
    commands = [f"delete {name}\n" for name in there if name not in wanted]
    commands += [f"update {name} {oid}\n" for name, oid in wanted.items()]
    commands_text = "".join(commands).encode("utf-8", "surrogateescape")
    run_git(repo, "update-ref", "--stdin", stdin=commands_text)


if __name__ == "__main__":
    try:
        given = {digest: (one[0], one[1]) for digest, one in json.load(sys.stdin).items()}
        json.dump(rewrite(Path(sys.argv[1]), given), sys.stdout)
    except UnsupportedHistory as problem:
        sys.exit(f"error: {problem}")
    except MemoryError:
        sys.exit(NO_MEMORY)
