"""One round of an import: from detecting the repository at the URL to the imported git store."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from store import Row, Store
from store.errors import Busy, StoreError, Unavailable, Unusable
from store.imports import import_contents, import_rounds, imports
from worker.http.client import GuardedClient
from worker.http.guard import Guard
from worker.imports import round_records
from worker.imports.directories import ImportDirectories, remove_tree, size_of
from worker.imports.fetch_hg import MercurialFetcher
from worker.imports.fetch_svn import SubversionFetcher
from worker.imports.git import CommandFailed
from worker.imports.probe import (
    DetectedRepository,
    ImportProblem,
    MultipleProjects,
    Probe,
    is_svn,
    within,
)
from worker.imports.round_records import ImportCancelled, ImportResult
from worker.imports.steps import (
    BATCH,
    LARGE,
    RESOLVED,
    ImportSteps,
    Survey,
    failure_message,
)
from worker.imports.uninterrupted import finished, in_thread
from worker.publishing import EventEmitter
from worker.settings import WorkerSettings

log = logging.getLogger("tocsin.worker")

KINDS = ("git", "mercurial", "subversion")
# A round without an end was cut off by a crash, which the import itself may have caused.
MOST_TRIES = 5
INTERRUPTED = f"it was interrupted {MOST_TRIES} times, perhaps because it needs too much memory"
BROKEN = "The import could not be done. The cause is in the log of the worker."


@dataclass(frozen=True, slots=True)
class ImportPace:
    """The intervals of imports, in seconds, and the size that counts as large."""

    poll: float = 1.0
    """The time between two checks for imports that were requested meanwhile."""
    progress: float = 0.25
    """The time between two reports of progress."""
    size_every: int = 8
    """The reports per measurement of the size on disk, which takes longer than a report."""
    large_file: int = LARGE
    """Files with more bytes are listed as large."""


@dataclass(frozen=True, slots=True)
class ImportContext:
    """The dependencies of imports."""

    store: Store
    settings: WorkerSettings
    guard: Guard
    client: GuardedClient
    emit: EventEmitter
    pace: ImportPace = ImportPace()


class ImportRound:
    """A round of an import, which records its progress and its end."""

    def __init__(self, context: ImportContext, row: Row) -> None:
        self._context = context
        self._store, self._settings = context.store, context.settings
        self._row = row
        self._places = ImportDirectories(self._settings.data_dir)
        self._folder = Path()
        self._steps: ImportSteps
        self._step = row["step"]
        self._progress: dict[str, Any] = {}

    async def __call__(self) -> None:
        """Run the round from beginning to end, and record how it ended."""
        log.info("import of repository %d: begins", self._row["repo_id"])
        try:
            if self._row["tries"] > MOST_TRIES:
                raise ImportProblem("error", INTERRUPTED)
            # Not on a thread: if this were cancelled meanwhile, nobody would remove the folder.
            self._folder = self._places.begin(self._row)
            self._steps = ImportSteps(
                self._folder,
                self._add_progress,
                memory=self._settings.import_max_memory,
                large_file=self._context.pace.large_file,
            )
            await self._run_with_timeout()
        except ImportCancelled:
            log.info("import of repository %d: cancelled or started again", self._row["repo_id"])
        except MultipleProjects as several:
            await self._finish("failure", import_rounds.choose, several.choices)
        except ImportProblem as problem:
            await self._fail(problem.status, problem.message)
        except CommandFailed as error:
            await self._fail("error", failure_message(error, self._folder))
        except TimeoutError:
            await self._fail("error", "it took longer than the setting import_timeout allows")
        except (asyncio.CancelledError, Busy, Unavailable, Unusable):
            await self._release()
            raise
        except Exception:
            # A retry would fail again.
            log.exception("import of repository %d", self._row["repo_id"])
            await self._fail("error", BROKEN)
        finally:
            if self._folder.name:
                # Shielded, and no task: a worker that stops meanwhile still removes the folder.
                removal = asyncio.get_running_loop().run_in_executor(
                    None, remove_tree, self._folder
                )
                await asyncio.shield(removal)

    async def _run_with_timeout(self) -> None:
        async with asyncio.timeout(self._settings.import_timeout):
            work = asyncio.ensure_future(self._work())
            try:
                beats = 0
                while not (await asyncio.wait({work}, timeout=self._context.pace.progress))[0]:
                    beats += 1
                    await self._save_progress(beats)
                work.result()
            finally:
                work.cancel()
                await finished(asyncio.gather(work, return_exceptions=True))

    async def _save_progress(self, beats: int) -> None:
        """Record the progress, and check whether the round may continue.

        Raises ImportCancelled if it was cancelled, and ImportProblem if it uses too much of the
        disk.
        """
        news, self._progress = self._progress, {}
        with contextlib.suppress(StoreError):
            if news:
                wanted = await self._store.write_relaxed(
                    import_rounds.report_progress, self._row, news
                )
            else:
                wanted = await self._store.read(import_rounds.is_current, self._row)
            if not wanted:
                raise ImportCancelled
        if beats % self._context.pace.size_every == 0:
            size = await in_thread(size_of, self._folder)
            if size > self._settings.import_max_bytes:
                raise ImportProblem(
                    "error", "it is larger than the setting import_max_bytes allows"
                )

    def _add_progress(self, **news: Any) -> None:
        self._progress |= news

    async def _set_status(self, status: str, /, **news: Any) -> None:
        """Record the step that begins now."""
        self._step = status
        news, self._progress = {**self._progress, "status": status, **news}, {}
        await self._write(import_rounds.report_progress, news)

    async def _write(self, change: Callable[..., bool], *given: Any) -> None:
        if not await self._store.write(change, self._row, *given):
            raise ImportCancelled

    async def _work(self) -> None:
        is_again = self._step == "mapping"
        head = await self._reuse_imported() if is_again else await self._fetch()
        while True:
            await self._set_status("mapping", push_percent=None)
            renamed = await self._store.read(import_contents.renamed, self._row["repo_id"])
            await self._steps.rewrite(renamed)
            await self._set_status("pushing", push_percent=0)
            head = await self._steps.push(head)
            found = await self._steps.refs()
            size = await in_thread(size_of, self._steps.made)
            await self._set_status("pushing", push_percent=99)
            # Other names of authors change no default branch, which may be another one by now.
            branch = None if is_again else head
            if await finished(self._install(ImportResult(renamed, branch, found, size))):
                break
        log.info("import of repository %d: complete", self._row["repo_id"])

    async def _install(self, result: ImportResult) -> bool:
        """Make the result the repository's store.

        Return False if authors were renamed meanwhile. Then the former store stays, as it does
        after a cancellation.
        """
        made, repo_id = self._steps.made, self._row["repo_id"]
        await in_thread(self._places.put, made, repo_id)
        try:
            is_complete = await self._store.write(
                round_records.complete, self._row, result, self._context.emit
            )
        except ImportCancelled:
            await in_thread(self._places.uninstall, made, repo_id)
            raise
        if not is_complete:
            await in_thread(self._places.uninstall, made, repo_id)
            await in_thread(remove_tree, made)
        return is_complete

    async def _reuse_imported(self) -> str | None:
        """Copy the history that was imported before. Return its default branch."""
        store = self._places.store(self._row["repo_id"])
        if not store.exists():
            raise ImportProblem("error", "the imported history is not here: begin the import anew")
        await self._steps.copy(store)
        return await self._steps.default()

    async def _fetch(self) -> str | None:
        """Detect the repository and fetch it. Return its default branch."""
        found, probe = await self._detect()
        if found.vcs not in KINDS:
            raise ImportProblem("error", f"{found.vcs} repositories cannot be imported here")
        remote = await probe.remote(found.url, asked=self._row["vcs_url"])
        is_git = found.vcs == "git"
        head = await self._steps.head(remote) if is_git else None
        await self._set_status(
            "importing", vcs=found.vcs, step="importing", import_percent=0, commit_count=0
        )
        if is_git:
            await self._steps.fetch(remote)
        elif found.vcs == "mercurial":
            head = await MercurialFetcher(self._steps, self._context.guard, remote).fetch()
        else:
            has_trunk = None
            if not is_svn(found.url):
                has_trunk = await probe.is_there(f"{found.url.rstrip('/')}/trunk/")
            head = await SubversionFetcher(self._steps, self._context.guard, remote).fetch(
                has_trunk
            )
        survey = await self._steps.survey()
        # Progress that was not recorded yet would overwrite the final counts.
        self._progress = {}
        await self._write(round_records.save_survey, survey)
        await self._save_authors(survey)
        await self._write(import_rounds.report_progress, {"import_percent": 100})
        return head

    async def _save_authors(self, survey: Survey) -> None:
        """Replace the authors, in short changes, so that other writers do not wait for long."""
        found: set[str] = set()
        async for batch in survey.authors():
            found |= {author.digest for author in batch}
            percent = RESOLVED + (99 - RESOLVED) * len(found) // survey.authors_count
            await self._write(round_records.save_part, percent, import_contents.put_authors, batch)
        known = await self._store.read(import_contents.digests, self._row["repo_id"])
        gone = [digest for digest in known if digest not in found]
        for at in range(0, len(gone), BATCH):
            part = gone[at : at + BATCH]
            await self._write(round_records.save_part, 99, import_contents.remove_authors, part)

    async def _detect(self) -> tuple[DetectedRepository, Probe]:
        row = self._row
        password = await self._store.read(imports.password_of, row)
        probe = Probe(self._context.guard, self._context.client, row["username"], password)
        url = row["vcs_url"] if row["project"] is None else within(row["vcs_url"], row["project"])
        if row["vcs"] is None:
            return await probe.detect(url), probe
        if is_svn(url) and row["vcs"] != "subversion":
            raise ImportProblem("error", f"at svn:// there are no {row['vcs']} repositories")
        if row["vcs"] != "git":
            return DetectedRepository(row["vcs"], url), probe
        found = await probe.git(url)
        if found is None:
            raise ImportProblem("error", "no git repository answers at this URL")
        return found, probe

    async def _fail(self, status: str, message: str | None) -> None:
        if status == "detection_needs_auth" and self._step != "detecting":
            status = "auth_failed"
        failed_step = self._step if status == "error" else None
        log.info("import of repository %d: %s", self._row["repo_id"], status)
        await self._finish("failure", import_rounds.stop, status, message, failed_step)

    async def _release(self) -> None:
        """Leave the import to a later round, because it is not to blame for the end of this one."""
        with contextlib.suppress(StoreError):
            await finished(self._store.write(import_rounds.release, self._row))

    async def _finish(self, outcome: str, change: Callable[..., bool], *given: Any) -> None:
        await self._store.write(
            round_records.finish, self._row, outcome, self._context.emit, change, *given
        )
