"""After `kill -9` during an import, the next worker completes it and leaves no partial files."""

import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from daemon import Site
from git_site import GitSite, git, git_site, stream
from waiting import until

from store import Row, Store
from store.accounts import accounts
from store.imports import import_rounds, imports
from store.repositories import repositories

COMMITS = 60


@pytest.fixture
def source(tmp_path: Path) -> Iterator[GitSite]:
    with git_site(tmp_path / "source") as made:
        made.repository("bells", stream(COMMITS, 20_000))
        yield made


def ask(db: Any, url: str) -> Row:
    repo = repositories.find(db, "ada", "engine")
    ada = accounts.by_login(db, "ada")
    assert repo is not None
    assert ada is not None
    return imports.start(db, repo["id"], ada["id"], url)


def statuses(store: Store) -> list[str]:
    """Return `told` for each event in the database. The import is the only source of events."""
    rows = store.read_sync(lambda db: db.value("SELECT count(*) FROM event"))
    return ["told"] * rows


def at_work(folder: Path) -> list[bytes]:
    """Return the command lines of the programs that work on imports below a folder.

    A program with a pending SIGKILL does not count, although it is still listed.
    """
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (process / "cmdline").read_bytes()
            if str(folder / "imports").encode() in line and not is_killed(process):
                found.append(line)
    return found


def is_killed(process: Path) -> bool:
    """Return whether a SIGKILL is pending for the process."""
    pending = re.search(r"^SigPnd:\s*(\w+)$", (process / "status").read_text(), re.MULTILINE)
    return pending is not None and bool(int(pending[1], 16) & 1 << signal.SIGKILL - 1)


async def test_an_import_that_is_killed_is_done_all_the_same(site: Site, source: GitSite) -> None:
    source.pause = 0.2
    with site.opened() as store:
        row = store.write_sync(ask, f"{source.url}/bells.git")
        made = site.folder / "git" / f"{row['repo_id']}.git"

        def now() -> Row:
            return store.read_sync(imports.needed, row["repo_id"])

        worker = await site.serve("--only", "worker")
        await until(lambda: (now()["import_percent"] or 0) > 10, "a part of the import")
        await worker.kill()
        assert now()["status"] == "importing", "the import was over at the kill"
        assert not made.exists()
        # The killed worker's programs end because their output is closed.
        await until(lambda: not at_work(site.folder), "the end of the worker's programs")
        assert statuses(store) == []
        source.pause = 0.0
        worker = await site.serve("--only", "worker")
        await until(lambda: now()["status"] == "complete", "the end of the import")
        assert await worker.end() == 0
        assert now()["commit_count"] == COMMITS
        assert statuses(store) == ["told"]
    assert git(made, "rev-list", "--count", "main") == str(COMMITS)
    assert git(made, "fsck") == ""
    assert [*(site.folder / "imports").iterdir()] == []
    assert site.integrity() == "ok"


async def test_a_stopped_worker_ends_the_programs_of_its_imports(
    site: Site, source: GitSite
) -> None:
    source.pause = 0.2
    with site.opened() as store:
        row = store.write_sync(ask, f"{source.url}/bells.git")
        worker = await site.serve("--only", "worker")
        await until(
            lambda: (store.read_sync(imports.needed, row["repo_id"])["import_percent"] or 0) > 0,
            "a part of the import",
        )
        assert at_work(site.folder)
        assert await worker.end() == 0
        assert at_work(site.folder) == []
        assert [*(site.folder / "imports").iterdir()] == []
        assert store.read_sync(import_rounds.next_due) is not None
