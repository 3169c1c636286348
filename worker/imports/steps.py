"""The steps of an import of a git repository: fetch, survey, rewrite, push.

Each reports its progress.
"""

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any

import orjson

from store.imports.import_contents import Author, LargeFile
from store.repositories.refs import MOST
from worker.imports.git import PROGRESS, CommandFailed, LineCallback, Remote, run
from worker.imports.git_objects import IMPORTED_REFS, OWN_REFS, lines_of
from worker.imports.probe import ImportProblem
from worker.imports.uninterrupted import in_thread

# The folder that Python finds this package in.
ROOT = str(Path(__file__).resolve().parents[2])
LARGE = 100 * 1024 * 1024
# Authors that are read and stored at a time. Meanwhile, other changes to the database wait.
BATCH = 1_000
HEAD = "HEAD"
USUAL = ("refs/heads/main", "refs/heads/master", "refs/heads/trunk")
# Messages of git about missing or wrong credentials, which the user has to correct.
DENIED = (
    "Authentication failed",
    "could not read Username",
    "could not read Password",
    "error: 403",
)
# Ranges of the progress in percent: objects are received, then resolved, then surveyed.
RESOLVED = 95
FETCHING = {"Receiving": (0, 80), "Resolving": (80, RESOLVED)}
PUSHING = {"Compressing": (0, 40), "Writing": (40, 99)}

ProgressReporter = Callable[..., None]
"""Called as `report(import_percent=..., commit_count=..., push_percent=...)`, with any of these."""


class ImportSteps:
    """The steps of one import, in a folder of its own, on the repository `source.git` in it."""

    def __init__(
        self, folder: Path, report: ProgressReporter, *, memory: int, large_file: int = LARGE
    ) -> None:
        self.home = folder
        self._memory = memory
        self._large_file = large_file
        self.report = report
        self.source = folder / "source.git"
        self.made = folder / "made.git"

    async def head(self, remote: Remote) -> str | None:
        """Return the default branch of a remote repository, or None if it has none.

        Raises ImportProblem if git cannot read the repository.
        """
        try:
            said = await self._git("ls-remote", "--symref", "--", remote.url, HEAD, remote=remote)
        except CommandFailed as error:
            raise _denied(error) or ImportProblem("error", str(error)) from None
        for line in lines_of(said.decode("utf-8", "replace")):
            if line.startswith("ref: refs/heads/") and line.endswith(f"\t{HEAD}"):
                return line.removeprefix("ref: ").partition("\t")[0]
        return None

    async def fetch(self, remote: Remote) -> None:
        """Fetch everything into `source.git`, unchanged. Raises ImportProblem if access is
        denied.
        """
        await self._git("init", "--quiet", "--bare", str(self.source))
        command = ("fetch", "--progress", "--no-tags", "--no-write-fetch-head", "--no-auto-gc")
        wanted = ("--", remote.url, f"+refs/*:{IMPORTED_REFS}*")
        git_dir = f"--git-dir={self.source}"
        try:
            await self._git(git_dir, *command, *wanted, remote=remote, on_line=self._fetching)
        except CommandFailed as error:
            raise _denied(error) or error from None

    def _fetching(self, line: str) -> None:
        if (percent := _progress(line, FETCHING)) is not None:
            self.report(import_percent=percent)

    async def survey(self) -> "Survey":
        authors = self.home / "authors"
        given = (str(self._large_file), str(authors))
        said = await self._python("survey", *given, on_line=self._counting)
        return Survey(await in_thread(orjson.loads, said), authors)

    def _counting(self, line: str) -> None:
        if line.startswith("commits "):
            self.report(commit_count=int(line.partition(" ")[2]), import_percent=RESOLVED)

    async def rewrite(self, renamed: Mapping[str, tuple[str, str]]) -> None:
        """Make the refs of `source.git` point to the history with these names."""
        await self._python("rewrite", stdin=orjson.dumps(renamed))

    async def push(self, head: str | None) -> str | None:
        """Push everything that is kept to `made.git`. Return its default branch.

        That is `head`, if the branch exists.
        """
        await self._git("init", "--quiet", "--bare", str(self.made))
        git_dir = f"--git-dir={self.source}"
        if await self._git(git_dir, "for-each-ref", "--count=1"):
            command = (git_dir, "push", "--progress", "--", str(self.made), "+refs/*:refs/*")
            await self._git(*command, on_line=self._pushing)
        return await self._set_default_branch(head)

    def _pushing(self, line: str) -> None:
        if (percent := _progress(line, PUSHING)) is not None:
            self.report(push_percent=percent)

    async def _set_default_branch(self, head: str | None) -> str | None:
        """Set the default branch, and hide the refs that are only for imports."""
        git_dir = f"--git-dir={self.made}"
        await self._git(git_dir, "config", "transfer.hideRefs", OWN_REFS.rstrip("/"))
        wanted = [name for name in (head, *USUAL) if name is not None]
        # A name is also the pattern of all branches below it.
        there = {name for name, _ in await self._listed(*wanted)}
        branch = next((name for name in wanted if name in there), None)
        if branch is None:
            first = await self._listed("--count=1", "refs/heads")
            branch = first[0][0] if first else head
        if branch is not None:
            await self._git(git_dir, "symbolic-ref", HEAD, branch)
        return branch

    async def refs(self) -> dict[str, str]:
        """Return the branches and tags of `made.git` with their commits, as many as are kept."""
        return dict(await self._listed(f"--count={MOST}", "refs/heads", "refs/tags"))

    async def _listed(self, *wanted: str) -> list[tuple[str, str]]:
        """Return refs of `made.git`, each with its commit, in the order of their names."""
        form = "--format=%(refname) %(objectname) %(*objectname)"
        said = await self._git(f"--git-dir={self.made}", "for-each-ref", form, *wanted)
        parts = (line.split(" ") for line in lines_of(said.decode("utf-8", "replace")))
        return [(name, next(filter(None, peeled), oid)) for name, oid, *peeled in parts]

    async def copy(self, store: Path) -> None:
        """Copy an imported repository to `source.git`.

        A program does this, because it can be killed.
        """
        await self.run("cp", "-R", "--", str(store), str(self.source))

    async def default(self) -> str | None:
        """Return the default branch of `source.git`, which an earlier import has set."""
        said = await self._git(f"--git-dir={self.source}", "symbolic-ref", HEAD)
        return said.decode().strip()

    async def run(self, *command: str, **how: Any) -> bytes:
        """Run a program in the folder, with limited memory. See `worker.imports.git.run`."""
        return await run(*command, home=self.home, memory=self._memory, **how)

    async def _git(self, *command: str, **how: Any) -> bytes:
        return await self.run("git", *command, **how)

    async def take_over(self, module: str, other: Path, on_line: LineCallback) -> None:
        """Convert a repository of another kind on this disk to `source.git`."""
        await self._git("init", "--quiet", "--bare", str(self.source))
        await self._python(module, str(other), on_line=on_line)

    async def _python(self, module: str, *args: str, **how: Any) -> bytes:
        command = (sys.executable, "-m", f"worker.imports.{module}", str(self.source), *args)
        more = {"PYTHONPATH": ROOT, "PYTHONDONTWRITEBYTECODE": "1", "HGENCODING": "UTF-8"}
        more["HGRCPATH"] = ""
        try:
            return await self.run(*command, more=more, **how)
        except CommandFailed as error:
            raise CommandFailed(module, error.code, error.said) from None


class Survey:
    """The survey of a fetched history: the number of commits, their authors, and large files."""

    def __init__(self, said: dict[str, Any], authors: Path) -> None:
        self.commits: int = said["commits"]
        self.authors_count: int = said["authors"]
        self._authors = authors
        large = said["large"]
        self.large_files = [LargeFile(*one) for one in large["files"]]
        self.large_count: int = large["count"]
        self.large_size: int = large["size"]

    async def authors(self) -> AsyncIterator[list[Author]]:
        """Yield the authors in batches. A thread reads each, so that the event loop goes on."""
        with self._authors.open("rb") as file:
            while batch := await in_thread(_read_authors, file):
                yield batch


def _read_authors(file: IO[bytes]) -> list[Author]:
    return [Author(*orjson.loads(line)) for line in islice(file, BATCH)]


def _progress(line: str, ranges: Mapping[str, tuple[int, int]]) -> int | None:
    """Return the progress that a line of git reports, or None if it reports none."""
    found = PROGRESS.search(line)
    if found is None or found["what"] not in ranges:
        return None
    first, last = ranges[found["what"]]
    return first + int(found["percent"]) * (last - first) // 100


def _denied(error: CommandFailed) -> ImportProblem | None:
    return ImportProblem("auth_failed") if error.says_any(DENIED) else None


def failure_message(error: CommandFailed, folder: Path) -> str:
    """Return the message for a failed program, without paths of this machine."""
    text = str(error).replace(f"{folder}{os.sep}", "").replace(str(folder), "")
    return "".join(char if char.isprintable() else " " for char in text)[:500]
