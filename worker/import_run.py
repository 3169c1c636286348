"""One round of an import, from what is at the URL to the repository's own git store."""

import asyncio
import contextlib
import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from store import (
    Connection,
    Row,
    Store,
    import_contents,
    import_rounds,
    imports,
    refs,
    repositories,
)
from store.errors import StoreError
from store.import_contents import Renamed
from worker.expire import Tell
from worker.guard import Guard
from worker.import_by_hg import Mercurial
from worker.import_by_svn import Subversion
from worker.import_git import Failed
from worker.import_places import Places, remove, size_of
from worker.import_probe import Found, Probe, Problem, Several, within
from worker.import_steps import Steps, Survey, words
from worker.settings import WorkerSettings
from worker.transport import Poster

log = logging.getLogger("tocsin.worker")

BEAT = 0.25
# Looking how much there is on disk costs more than to say how far it is.
SIZED_EVERY = 8
KINDS = ("git", "mercurial", "subversion")
BROKEN = "The import could not be done. The cause is in the log of the worker."


class Unwanted(Exception):
    """It was cancelled, or begun anew."""


@dataclass(frozen=True, slots=True)
class Result:
    """A history under these names, with its default branch, its branches and tags, and the bytes
    that it takes.
    """

    names: Renamed
    head: str | None
    refs: dict[str, str]
    size: int


@dataclass(frozen=True, slots=True)
class Means:
    """What imports are done with."""

    store: Store
    settings: WorkerSettings
    guard: Guard
    poster: Poster
    tell: Tell


class Run:
    """Does a round, and writes how far it is and how it ended."""

    def __init__(self, means: Means, row: Row) -> None:
        self._means = means
        self._store, self._settings = means.store, means.settings
        self._row = row
        self._places = Places(self._settings.data_dir)
        self._folder = Path()
        self._steps: Steps
        self._step = row["step"]
        self._news: dict[str, Any] = {}

    async def __call__(self) -> None:
        """From the beginning of the round to its end, whatever that is."""
        log.info("import of repository %d: begins", self._row["repo_id"])
        try:
            self._folder = await asyncio.to_thread(self._places.begin, self._row)
            self._steps = Steps(self._folder, self._note)
            await self._in_time()
        except Unwanted:
            log.info("import of repository %d: not wanted any more", self._row["repo_id"])
        except Several as several:
            await self._ended("failure", import_rounds.choose, several.choices)
        except Problem as problem:
            await self._stopped(problem.status, problem.message)
        except Failed as error:
            await self._stopped("error", words(error, self._folder))
        except TimeoutError:
            await self._stopped("error", "it took longer than the setting import_timeout allows")
        except StoreError:
            raise
        except Exception:
            # Tried again it would fail again.
            log.exception("import of repository %d", self._row["repo_id"])
            await self._stopped("error", BROKEN)
        finally:
            if self._folder.name:
                await asyncio.to_thread(remove, self._folder)

    async def _in_time(self) -> None:
        async with asyncio.timeout(self._settings.import_timeout):
            work = asyncio.ensure_future(self._work())
            try:
                beats = 0
                while not (await asyncio.wait({work}, timeout=BEAT))[0]:
                    beats += 1
                    await self._attend(beats)
                work.result()
            finally:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)

    async def _attend(self, beats: int) -> None:
        """Write how far it is, and see whether it may go on. Unwanted, Problem."""
        news, self._news = self._news, {}
        with contextlib.suppress(StoreError):
            if news:
                wanted = await self._store.note(import_rounds.tell, self._row, news)
            else:
                wanted = await self._store.read(import_rounds.is_current, self._row)
            if not wanted:
                raise Unwanted
        if beats % SIZED_EVERY == 0:
            size = await asyncio.to_thread(size_of, self._folder)
            if size > self._settings.import_max_bytes:
                raise Problem("error", "it is larger than the setting import_max_bytes allows")

    def _note(self, **news: Any) -> None:
        self._news |= news

    async def _now(self, status: str, /, **news: Any) -> None:
        """Say what is done from here on."""
        self._step = status
        news, self._news = {**self._news, "status": status, **news}, {}
        await self._write(import_rounds.tell, news)

    async def _write(self, change: Callable[..., bool], *given: Any) -> None:
        if not await self._store.write(change, self._row, *given):
            raise Unwanted

    async def _work(self) -> None:
        head = await self._kept() if self._step == "mapping" else await self._fetched()
        while True:
            await self._now("mapping", push_percent=None)
            renamed = await self._store.read(import_contents.renamed, self._row["repo_id"])
            await self._steps.rewrite(renamed)
            await self._now("pushing", push_percent=0)
            head = await self._steps.push(head)
            found = await self._steps.refs()
            size = await asyncio.to_thread(size_of, self._steps.made)
            await self._now("pushing", push_percent=99)
            if await self._put(Result(renamed, head, found, size)):
                break
        log.info("import of repository %d: complete", self._row["repo_id"])

    async def _put(self, result: "Result") -> bool:
        """Have it be the repository's. False where authors are called otherwise by now."""
        made, repo_id = self._steps.made, self._row["repo_id"]
        await asyncio.to_thread(self._places.put, made, repo_id)
        try:
            return await self._store.write(_complete, self._row, result, self._means.tell)
        except Unwanted:
            await asyncio.to_thread(self._places.take_back, made, repo_id)
            raise

    async def _kept(self) -> str | None:
        """Take up what was imported before; returns its default branch."""
        store = self._places.store(self._row["repo_id"])
        if not store.exists():
            raise Problem("error", "the imported history is not here: begin the import anew")
        await asyncio.to_thread(shutil.copytree, store, self._steps.source)
        return await self._steps.default()

    async def _fetched(self) -> str | None:
        """Find out what is there and fetch it; returns its default branch."""
        found, probe = await self._found()
        if found.vcs not in KINDS:
            raise Problem("error", f"{found.vcs} repositories cannot be imported here")
        remote = await probe.remote(found.url, asked=self._row["vcs_url"])
        is_git = found.vcs == "git"
        head = await self._steps.head(remote) if is_git else None
        await self._now(
            "importing", vcs=found.vcs, step="importing", import_percent=0, commit_count=0
        )
        if is_git:
            await self._steps.fetch(remote)
        elif found.vcs == "mercurial":
            head = await Mercurial(self._steps, self._means.guard, remote).fetch()
        else:
            has_trunk = await probe.is_there(f"{found.url.rstrip('/')}/trunk/")
            head = await Subversion(self._steps, self._means.guard, remote).fetch(has_trunk)
        survey = await self._steps.survey()
        # What was counted on the way and not yet told would be told after it.
        self._news = {}
        await self._write(_surveyed, survey)
        return head

    async def _found(self) -> tuple[Found, Probe]:
        row = self._row
        password = await self._store.read(imports.password_of, row)
        probe = Probe(self._means.guard, self._means.poster, row["username"], password)
        url = row["vcs_url"] if row["project"] is None else within(row["vcs_url"], row["project"])
        if row["vcs"] is None:
            return await probe.detect(url), probe
        if row["vcs"] != "git":
            return Found(row["vcs"], url), probe
        found = await probe.git(url)
        if found is None:
            raise Problem("error", "no git repository answers at this URL")
        return found, probe

    async def _stopped(self, status: str, message: str | None) -> None:
        if status == "detection_needs_auth" and self._step != "detecting":
            status = "auth_failed"
        failed_step = self._step if status == "error" else None
        log.info("import of repository %d: %s", self._row["repo_id"], status)
        await self._ended("failure", import_rounds.stop, status, message, failed_step)

    async def _ended(self, outcome: str, change: Callable[..., bool], *given: Any) -> None:
        await self._store.write(_told, self._row, outcome, self._means.tell, change, *given)


def _told(
    db: Connection, row: Row, outcome: str, tell: Tell, change: Callable[..., bool], *given: Any
) -> None:
    if change(db, row, *given):
        tell(db, "repository_import", [row | {"outcome": outcome}])


def _surveyed(db: Connection, row: Row, survey: Survey) -> bool:
    counts = {"commit_count": survey.commits, "authors_count": len(survey.authors)}
    if not import_rounds.tell(db, row, counts | {"import_percent": 100}):
        return False
    repo_id = row["repo_id"]
    import_contents.put_authors(db, repo_id, survey.authors)
    large = {"count": survey.large_count, "size": survey.large_size}
    import_contents.put_large_files(db, repo_id, survey.large_files, **large)
    return True


def _complete(db: Connection, row: Row, result: Result, tell: Tell) -> bool:
    ended = import_rounds.complete(db, row, result.names)
    if ended is None:
        raise Unwanted
    if ended:
        refs.replace(db, row["repo_id"], result.refs)
        branch = (result.head or "").removeprefix("refs/heads/") or None
        repositories.imported(db, row["repo_id"], branch, result.size)
        tell(db, "repository_import", [row | {"outcome": "success"}])
    return ended
