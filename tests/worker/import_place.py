"""A repository as the target of imports, and the worker's job, which tests call to import."""

from pathlib import Path
from typing import Any

from git_site import git
from receivers import LOOPBACK

from store import Connection, Row, Store
from store.accounts import accounts
from store.imports import import_contents, imports
from store.repositories import repositories
from worker.http.guard import Resolver
from worker.imports.import_round import ImportPace
from worker.jobs.run_imports import run_imports
from worker.settings import WorkerSettings


class Place:
    """The repository octo/hello, the server that it is imported from, and the reported outcomes."""

    def __init__(self, store: Store, source: str, data_dir: Path) -> None:
        data_dir.mkdir(exist_ok=True)
        self.store, self.source, self.data_dir = store, source, data_dir
        self.emitted: list[Row] = []
        self.pace = ImportPace()
        self.resolver: Resolver | None = None
        self.settings = WorkerSettings(data_dir=data_dir, allow_networks=LOOPBACK)
        self.octo = store.write_sync(accounts.create, "octo")
        self.repo = store.write_sync(repositories.create, self.octo["id"], "hello")

    def start(self, path: str = "/bells.git", **given: Any) -> Row:
        url = self.source + path
        return self.store.write_sync(imports.start, self.repo["id"], self.octo["id"], url, **given)

    def restart(self, **changed: Any) -> Row:
        return self.store.write_sync(imports.restart, self.row, self.octo["id"], changed)

    def emit(self, db: Connection, event: str, rows: Any) -> None:
        assert event == "repository_import"
        self.emitted += rows

    async def work(self, **changed: Any) -> Row:
        settings = self.settings.model_copy(update=changed)
        await run_imports(self.store, settings, self.emit, pace=self.pace, resolver=self.resolver)
        return self.row

    async def done(self, path: str = "/bells.git", **given: Any) -> Row:
        self.start(path, **given)
        return await self.work()

    @property
    def row(self) -> Row:
        row = self.store.read_sync(imports.get, self.repo["id"])
        assert row is not None
        return row

    @property
    def outcomes(self) -> list[str]:
        return [row["outcome"] for row in self.emitted]

    @property
    def made(self) -> Path:
        return self.data_dir / "git" / f"{self.repo['id']}.git"

    def authors(self) -> list[Row]:
        return self.store.read_sync(import_contents.authors, self.repo["id"], limit=100)

    def rename(self, who: str, /, **given: str) -> None:
        (row,) = [each for each in self.authors() if each["remote_name"] == who]
        self.store.write_sync(_rename, row, {"name": row["name"], "email": row["email"]} | given)

    def log(self, *form: str) -> list[str]:
        return git(self.made, "log", "--format=%an <%ae>", "--reverse", *form).splitlines()

    def left(self) -> list[Path]:
        """The working folders that imports have left behind."""
        return [*(self.data_dir / "imports").glob("*")]


def _rename(db: Connection, row: Row, given: dict[str, str]) -> None:
    imports.remap(db, row["repo_id"])
    import_contents.rename(db, row, **given)
