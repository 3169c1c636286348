"""Imports of real git repositories from a server on loopback."""

import asyncio
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from engines import ENGINES, engine_url
from git_site import ADA, GitSite, git, git_site, stream
from import_place import Place
from required import required
from waiting import PATIENCE, until

from store import Connection, Row, Store
from store.crypto import owned_files
from store.errors import Missing, Unavailable
from store.imports import import_contents, import_rounds, imports
from store.imports.import_contents import Author
from store.jobs import jobs
from store.jobs.jobs import JobSchedule
from store.repositories import refs, repositories
from worker.imports import directories, import_round, probe, steps
from worker.imports.git import CommandFailed, run
from worker.imports.import_round import MOST_TRIES, ImportPace
from worker.jobs.prune import prune
from worker.jobs.run_imports import clean_up, run_imports

PASSWORD = "open sesame / ä"


@pytest.fixture(params=["sqlite"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """SQLite by default, because most of these tests do not depend on the database engine."""
    with engine_url(request.param) as named:
        yield named


on_each = pytest.mark.parametrize("url", ENGINES, indirect=True)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[GitSite]:
    with git_site(tmp_path / "site") as made:
        made.bells()
        yield made


class GitPlace(Place):
    """A place whose source is the server `site`."""

    def __init__(self, store: Store, site: GitSite, data_dir: Path) -> None:
        super().__init__(store, site.url, data_dir)
        self.site = site


@pytest.fixture
def place(store: Store, site: GitSite, tmp_path: Path) -> GitPlace:
    return GitPlace(store, site, tmp_path / "data")


@on_each
async def test_a_repository_is_imported(place: GitPlace) -> None:
    begun = place.start()
    assert begun["status"] == "detecting"
    row = await place.work()
    assert (row["status"], row["vcs"], row["error_message"]) == ("complete", "git", None)
    assert (row["commit_count"], row["authors_count"], row["push_percent"]) == (3, 2, 100)
    assert place.outcomes == ["success"]
    theirs = git(place.site.root / "bells.git", "for-each-ref", "--format=%(refname) %(objectname)")
    form = "--format=%(refname) %(objectname)"
    assert git(place.made, "for-each-ref", form, "refs/heads", "refs/tags") == theirs
    assert git(place.made, "fsck", "--strict") == ""
    assert git(place.made, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert place.left() == []
    assert place.store.read_sync(import_rounds.next_due) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_a_store_belongs_to_the_owner_of_the_data_directory(
    place: GitPlace, tmp_path: Path
) -> None:
    """A link is not followed, because that owner could have put it there."""
    kept = tmp_path / "kept"
    kept.touch()
    os.chown(place.data_dir, 12345, 12345)
    await place.done()
    found = [place.data_dir / "imports", place.data_dir / "git", *place.made.rglob("*")]
    assert len(found) > 10
    assert {(path.stat().st_uid, path.stat().st_gid) for path in found} == {(12345, 12345)}
    (place.made / "link").symlink_to(kept)
    owned_files.chown_tree_like(place.data_dir, place.made)
    assert kept.stat().st_uid == 0


async def test_an_import_sets_default_branch_and_refs(place: GitPlace) -> None:
    place.site.repository("trunk", stream(branch="trunk"))
    bare = place.site.root / "trunk.git"
    git(bare, "symbolic-ref", "HEAD", "refs/heads/trunk")
    await place.done("/trunk.git")
    repo = required(place.store.read_sync(repositories.get, place.repo["id"]))
    assert (repo["default_branch"], repo["pushed_at"] is None, repo["size"] > 0) == (
        "trunk",
        False,
        True,
    )
    at = place.store.read_sync(refs.resolve, place.repo["id"], "trunk")
    assert at == git(bare, "rev-parse", "trunk")
    # An annotated tag resolves to its commit.
    assert place.store.read_sync(refs.resolve, place.repo["id"], "v1") == at


async def test_the_first_branch_is_the_default_if_the_source_names_none(place: GitPlace) -> None:
    # `main/one` is below a usual name, and is no usual name.
    place.site.repository("many", stream(branch="main/one"))
    bare = place.site.root / "many.git"
    git(bare, "branch", "first", "main/one")
    git(bare, "update-ref", "--no-deref", "HEAD", "main/one")
    await place.done("/many.git")
    repo = required(place.store.read_sync(repositories.get, place.repo["id"]))
    assert repo["default_branch"] == "first"


@pytest.mark.parametrize("char", ["\u2028", "\x85"])
async def test_line_separators_in_the_name_of_a_branch(place: GitPlace, char: str) -> None:
    name = f"a{char}b"
    place.site.repository("odd", stream(branch=name))
    bare = place.site.root / "odd.git"
    git(bare, "symbolic-ref", "HEAD", f"refs/heads/{name}")
    assert (await place.done("/odd.git"))["status"] == "complete"
    repo = required(place.store.read_sync(repositories.get, place.repo["id"]))
    assert repo["default_branch"] == name
    at = place.store.read_sync(refs.resolve, place.repo["id"], name)
    assert at == git(bare, "rev-parse", f"refs/heads/{name}")


async def test_an_empty_repository_can_be_imported(place: GitPlace) -> None:
    place.site.repository("empty", b"")
    row = await place.done("/empty.git")
    assert (row["status"], row["commit_count"], row["authors_count"]) == ("complete", 0, 0)
    assert git(place.made, "for-each-ref") == ""


async def test_a_server_of_files(place: GitPlace) -> None:
    place.site.dumb = True
    row = await place.done()
    assert (row["status"], row["commit_count"]) == ("complete", 3)
    assert len(place.log()) == 3


async def test_names_and_passwords(place: GitPlace, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    place.site.password = PASSWORD
    assert (await place.done())["status"] == "detection_needs_auth"
    place.restart(username="ada", password="wrong")
    assert (await place.work())["status"] == "auth_failed"
    assert place.outcomes == ["failure", "failure"]
    place.restart(password=PASSWORD)
    row = await place.work()
    assert (row["status"], row["commit_count"]) == ("complete", 3)
    kept = place.store.read_sync(lambda db: db.value("SELECT password FROM source_import"))
    assert PASSWORD.encode() not in bytes(kept)
    assert PASSWORD not in caplog.text
    assert not any(PASSWORD in str(path) for _, path, _ in place.site.seen)


async def test_a_missing_password_ends_an_import_of_a_given_kind(place: GitPlace) -> None:
    place.site.password = PASSWORD
    assert (await place.done(vcs="git"))["status"] == "auth_failed"


async def test_a_password_request_to_git_ends_an_import(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first request needs no password, as with a server whose list of branches is public.
    lets_in, asked = place.site.lets_in, iter([True])
    monkeypatch.setattr(place.site, "lets_in", lambda given: next(asked, lets_in(given)))
    place.site.password = PASSWORD
    assert (await place.done())["status"] == "auth_failed"


async def test_a_missing_repository_fails_the_import(place: GitPlace) -> None:
    row = await place.done("/nothing.git")
    assert (row["status"], row["error_message"]) == ("detection_found_nothing", None)
    assert place.outcomes == ["failure"]
    assert place.store.read_sync(import_rounds.next_due) is None
    # If the request names the kind of repository, another error is reported.
    row = await place.done("/nothing.git", vcs="git")
    assert (row["status"], row["failed_step"]) == ("error", "importing")
    assert row["error_message"] == "no git repository answers at this URL"


async def test_several_projects_at_a_url(place: GitPlace) -> None:
    for name in ("rope", "cart"):
        place.site.repository(f"group/{name}", stream(1))
    (place.site.root / "group" / "notes.txt").write_text("not a repository")
    row = await place.done("/group")
    assert row["status"] == "detection_found_multiple"
    names = [choice["tfvc_project"] for choice in row["project_choices"]]
    assert names == ["cart.git", "rope.git"]
    assert row["project_choices"][0] == {
        "vcs": "git",
        "tfvc_project": "cart.git",
        "human_name": "cart.git (git)",
    }
    place.restart(project="rope.git")
    row = await place.work()
    assert (row["status"], row["project"], row["commit_count"]) == ("complete", "rope.git", 1)
    assert row["project_choices"] == []


@pytest.mark.parametrize(
    "link",
    ["href=x ", 'href="/{n}" ', 'href="below/{n}" ', 'href="' + "&a" * 3000 + '{n}" '],
    ids=["same", "another site", "below", "long"],
)
def test_a_page_of_many_links_costs_little(monkeypatch: pytest.MonkeyPatch, link: str) -> None:
    joined = []
    monkeypatch.setattr(probe, "urljoin", lambda *parts: joined.append(parts) or urljoin(*parts))
    page = "".join(link.replace("{n}", str(n)) for n in range(5000))
    found = probe.links_below(page, "http://forge.example/")
    assert len(found) <= probe.MOST_CHOICES
    assert len(joined) <= probe.MOST_LINKS
    assert all(len(place) <= probe.LONGEST_LINK for _, place in joined)


async def test_the_only_project_at_a_url_is_imported(place: GitPlace) -> None:
    place.site.repository("lone/rope ö", stream(1))
    assert (await place.done("/lone"))["status"] == "complete"


@pytest.mark.parametrize("project", ["../bells.git", "a//b", "./x", ""])
async def test_a_project_outside_of_the_url_is_refused(place: GitPlace, project: str) -> None:
    row = await place.done("/group", vcs="git", project=project)
    assert (row["status"], row["failed_step"]) == ("error", "importing")
    assert place.site.seen == []


async def test_an_unsupported_kind_ends_an_import(place: GitPlace) -> None:
    row = await place.done(vcs="tfvc")
    assert (row["status"], row["failed_step"]) == ("error", "importing")
    assert row["error_message"] == "tfvc repositories cannot be imported here"


async def test_an_address_that_the_guard_refuses_ends_an_import(place: GitPlace) -> None:
    place.start()
    row = await place.work(allow_networks=[])
    assert (row["status"], row["failed_step"]) == ("error", "detecting")
    assert "127.0.0.1 is refused: loopback" in row["error_message"]
    assert place.site.seen == []


async def test_a_redirect_keeps_the_password_on_its_server(place: GitPlace, tmp_path: Path) -> None:
    place.site.moved = {"/old/": f"{place.site.url}/"}
    place.site.password = PASSWORD
    row = await place.done("/old/bells.git", username="ada", password=PASSWORD)
    assert row["status"] == "complete"
    with git_site(tmp_path / "other") as other:
        other.repository("bells", stream(1))
        place.site.moved = {"/old/": f"{other.url}/"}
        row = await place.done("/old/bells.git", username="ada", password=PASSWORD)
        assert (row["status"], row["commit_count"]) == ("complete", 1)
        # The password is not sent to the other server.
        assert {given for _, _, given in other.seen} == {None}
    place.site.moved = {"/old/": "http://10.0.0.1/"}
    row = await place.done("/old/bells.git")
    assert "10.0.0.1 is refused: private" in row["error_message"]
    place.site.moved = {"/old/": f"{place.site.url}/old/"}
    row = await place.done("/old/bells.git")
    assert "without end" in row["error_message"]


async def test_git_itself_is_sent_nowhere(place: GitPlace, tmp_path: Path) -> None:
    with git_site(tmp_path / "other") as other:
        other.repository("bells", stream(1))
        place.site.trap = other.url
        row = await place.done()
        assert (row["status"], row["failed_step"]) == ("error", "detecting")
        assert other.seen == []


async def test_alternates_on_another_server_are_not_fetched(
    place: GitPlace, tmp_path: Path
) -> None:
    with git_site(tmp_path / "other") as other:
        other.bells()
        place.site.dumb = True
        objects = place.site.root / "bells.git" / "objects"
        (objects / "info" / "http-alternates").write_text(f"{other.url}/bells.git/objects/\n")
        for path in objects.glob("[0-9a-f][0-9a-f]/*"):
            path.unlink()
        row = await place.done()
        assert (row["status"], row["failed_step"]) == ("error", "importing")
        assert other.seen == []


async def test_the_name_is_resolved_once(place: GitPlace) -> None:
    """Git connects to the address that was checked. It could not resolve this name itself."""
    port = place.site.url.rpartition(":")[2]
    place.resolver = lambda host, port: _addresses("127.0.0.1")
    url = f"http://bells.invalid:{port}/bells.git"
    place.store.write_sync(imports.start, place.repo["id"], place.octo["id"], url)
    assert (await place.work())["status"] == "complete"


async def _addresses(*found: str) -> list[str]:
    return [*found]


@on_each
async def test_authors_are_renamed(place: GitPlace) -> None:
    await place.done()
    assert [(one["remote_name"], one["remote_id"]) for one in place.authors()] == [
        ("Ada", "ada@tower.example"),
        ("Bob Ölm", "bob@tower.example"),
    ]
    before = git(place.made, "rev-parse", "main", "quiet", "v1")
    place.rename("Bob Ölm", name="Robert", email="robert@x.example")
    assert place.row["status"] == "mapping"
    seen = len(place.site.seen)
    await place.work()
    assert place.row["status"] == "complete"
    assert place.outcomes == ["success", "success"]
    assert place.log() == [
        "Ada <ada@tower.example>",
        "Robert <robert@x.example>",
        "Ada <ada@tower.example>",
    ]
    assert len(place.site.seen) == seen, "a rename needs no request to the source"
    at = git(place.made, "rev-parse", "main", "quiet", "v1").splitlines()
    # The branch without commits by Bob keeps its commits.
    assert [new == old for new, old in zip(at, before.splitlines(), strict=True)] == [
        False,
        True,
        False,
    ]
    assert git(place.made, "fsck", "--strict") == ""
    place.rename("Bob Ölm", name="Bob Ölm", email="bob@tower.example")
    await place.work()
    assert git(place.made, "rev-parse", "main", "quiet", "v1") == before


async def test_a_renamed_author_changes_no_default_branch(place: GitPlace) -> None:
    await place.done()
    # An event of the platform has changed it since.
    change = "UPDATE repository SET default_branch = 'quiet' WHERE id = :id"
    place.store.write_sync(lambda db: db.execute(change, id=place.repo["id"]))
    place.rename("Ada", name="Eve")
    assert (await place.work())["status"] == "complete"
    repo = required(place.store.read_sync(repositories.get, place.repo["id"]))
    assert repo["default_branch"] == "quiet"


async def test_two_authors_can_be_merged_and_separated_again(place: GitPlace) -> None:
    await place.done()
    place.rename("Bob Ölm", name="Ada", email="ada@tower.example")
    await place.work()
    assert set(place.log()) == {"Ada <ada@tower.example>"}
    place.rename("Bob Ölm", name="Bob", email="bob@tower.example")
    await place.work()
    assert place.log()[1] == "Bob <bob@tower.example>"


async def test_a_name_that_is_given_while_it_is_imported(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    push, renamed = steps.ImportSteps.push, iter([True])

    async def pushing(self: Any, head: str | None) -> str | None:
        if next(renamed, False):
            place.rename("Ada", name="Eve")
        return await push(self, head)

    monkeypatch.setattr(steps.ImportSteps, "push", pushing)
    row = await place.done()
    assert row["status"] == "complete"
    assert place.log() == [
        "Eve <ada@tower.example>",
        "Bob Ölm <bob@tower.example>",
        "Eve <ada@tower.example>",
    ]
    assert place.outcomes == ["success"]
    assert place.left() == []


async def test_names_outlast_a_new_beginning(place: GitPlace) -> None:
    await place.done()
    place.rename("Ada", name="Eve")
    place.restart()
    await place.work()
    assert place.log()[0] == "Eve <ada@tower.example>"


async def test_the_source_has_changed(place: GitPlace) -> None:
    await place.done()
    bare = place.site.root / "bells.git"
    tree = git(bare, "rev-parse", "main^{tree}")
    eve = {name: value.replace("Ada", "Eve") for name, value in ADA.items()}
    git(bare, "update-ref", "refs/heads/main", git(bare, "commit-tree", tree, "-m", "New", **eve))
    git(bare, "update-ref", "-d", "refs/tags/v1")
    place.restart()
    row = await place.work()
    assert (row["status"], row["commit_count"]) == ("complete", 2)
    assert [one["remote_name"] for one in place.authors()] == ["Ada", "Eve"]
    assert place.store.read_sync(refs.resolve, place.repo["id"], "v1") is None


async def test_the_store_is_gone(place: GitPlace) -> None:
    await place.done()
    place.made.rename(place.made.with_name("elsewhere"))
    place.rename("Ada", name="Eve")
    row = await place.work()
    assert (row["status"], row["failed_step"]) == ("error", "mapping")
    assert "begin the import anew" in row["error_message"]


@on_each
async def test_authors_are_stored_in_short_changes(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, sizes, threads = import_contents.put_authors, [], set()

    def putting(db: Connection, repo_id: int, found: Sequence[Author]) -> None:
        sizes.append((len(found), db.value("SELECT count(*) FROM import_author")))
        put(db, repo_id, found)

    def made(*given: str) -> Author:
        threads.add(threading.current_thread())
        return Author(*given)

    monkeypatch.setattr(import_contents, "put_authors", putting)
    monkeypatch.setattr(steps, "Author", made)
    monkeypatch.setattr(steps, "BATCH", 1)
    monkeypatch.setattr(import_round, "BATCH", 1)
    row = await place.done()
    assert sizes == [(1, 0), (1, 1)]
    assert threading.current_thread() not in threads
    assert (row["status"], row["authors_count"], row["import_percent"]) == ("complete", 2, 100)


@on_each
async def test_large_files_are_counted_and_listed(place: GitPlace) -> None:
    place.pace = ImportPace(large_file=20_000)
    place.site.repository("large", stream(3, 30_000))
    row = await place.done("/large.git")
    assert (row["large_files_count"], row["large_files_size"]) == (3, 90_000)
    found = place.store.read_sync(import_contents.large_files, place.repo["id"])
    assert {one["path"] for one in found} == {"bells/1.txt", "bells/2.txt", "bells/3.txt"}
    assert {one["ref_name"] for one in found} == {"refs/heads/main"}
    for one in found:
        assert git(place.made, "cat-file", "-s", one["oid"]) == str(one["size"])
    place.restart()
    row = await place.work()
    assert row["large_files_count"] == 3


async def test_the_progress_of_a_large_import_is_reported(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.pace = ImportPace(progress=0.02)
    place.site.repository("large", stream(800, 5_000))
    place.site.pause = 0.02
    seen = [place.start("/large.git")]
    emit = import_rounds.report_progress

    def emitting(db: Connection, row: Row, changed: dict[str, Any]) -> bool:
        wanted = emit(db, row, changed)
        now = required(imports.get(db, row["repo_id"]))
        seen.append(now)
        return wanted

    monkeypatch.setattr(import_rounds, "report_progress", emitting)
    assert (await place.work())["status"] == "complete"
    order = ["detecting", "importing", "mapping", "pushing", "complete"]
    assert [*dict.fromkeys(row["status"] for row in seen), "complete"][:5] == order
    percents = [row["import_percent"] or 0 for row in seen if row["status"] == "importing"]
    assert percents == sorted(percents)
    assert len(set(percents)) > 5, percents
    assert place.row["commit_count"] == 800


async def test_progress_that_was_not_yet_reported_does_not_undo_the_end(place: GitPlace) -> None:
    place.pace = ImportPace(progress=60)
    place.site.repository("large", stream(800, 100))
    row = await place.done("/large.git")
    assert (row["status"], row["commit_count"]) == ("complete", 800)


async def test_a_canceled_import_stops_and_leaves_nothing(place: GitPlace) -> None:
    place.site.repository("large", stream(50, 20_000))
    place.site.pause = 0.2
    place.start("/large.git")
    work = asyncio.ensure_future(place.work())
    await until(lambda: (place.row["import_percent"] or 0) > 0)
    assert running(place.data_dir)
    place.store.write_sync(imports.delete, place.repo["id"])
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(AssertionError):
            await work
    assert running(place.data_dir) == []
    assert place.left() == []
    assert not place.made.exists()
    assert place.emitted == []


async def test_an_import_can_be_restarted_while_it_runs(place: GitPlace) -> None:
    place.site.repository("large", stream(50, 20_000))
    place.site.pause = 0.2
    place.start("/large.git")
    work = asyncio.ensure_future(place.work())
    await until(lambda: (place.row["import_percent"] or 0) > 0)
    place.site.pause = 0.0
    place.restart()
    async with asyncio.timeout(PATIENCE):
        assert (await work)["status"] == "complete"
    assert place.outcomes == ["success"]
    assert place.left() == []


async def test_the_worker_stops(place: GitPlace) -> None:
    place.site.repository("large", stream(50, 20_000))
    place.site.pause = 0.2
    place.start("/large.git")
    work = asyncio.ensure_future(place.work())
    await until(lambda: (place.row["import_percent"] or 0) > 0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert running(place.data_dir) == []
    assert place.left() == []
    place.site.pause = 0.0
    assert place.store.read_sync(import_rounds.next_due) is not None
    assert place.row["tries"] == 0, "a stop is not counted"
    assert (await place.work())["status"] == "complete"


async def test_an_import_that_crashes_often_ends(place: GitPlace) -> None:
    place.start()
    for _ in range(MOST_TRIES):
        # A worker that is killed records nothing.
        place.store.write_sync(import_rounds.claim, [])
    row = await place.work()
    assert (row["status"], row["failed_step"]) == ("error", "detecting")
    assert f"interrupted {MOST_TRIES} times" in row["error_message"]
    assert place.outcomes == ["failure"]
    assert place.site.seen == []
    place.restart()
    assert (await place.work())["status"] == "complete"


async def test_a_database_that_is_away_is_not_counted(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> None:
        raise Unavailable("the database is away")

    monkeypatch.setattr(steps.ImportSteps, "push", away)
    place.start()
    with pytest.raises(Unavailable):
        await place.work()
    assert place.row["tries"] == 0


class HeldInstall:
    """A pause of the thread that puts a store in place, until `go_on` is set."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def fsync(self, path: Path) -> None:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)

    def __enter__(self) -> "HeldInstall":
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on.set()


async def begin_install(
    place: GitPlace, held: HeldInstall, monkeypatch: pytest.MonkeyPatch
) -> asyncio.Task[Row]:
    """Import the repository, rename Ada to Eve, and hold the installation of the new store."""
    await place.done()
    place.rename("Ada", name="Eve")
    monkeypatch.setattr(directories, "fsync", held.fsync)
    work = asyncio.ensure_future(place.work())
    await until(held.begun.is_set)
    return work


async def test_a_stop_during_the_installation_waits_for_it(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HeldInstall() as held:
        work = await begin_install(place, held, monkeypatch)
        for _ in range(3):
            work.cancel()
            await asyncio.sleep(0.05)
        assert len(place.left()) == 1, "the folder stays while the thread works in it"
    with pytest.raises(asyncio.CancelledError):
        await work
    assert place.row["status"] == "complete"
    assert place.log()[0] == "Eve <ada@tower.example>"
    assert git(place.made, "fsck", "--strict") == ""
    assert place.left() == []


async def test_a_cancellation_during_the_installation_keeps_the_former_store(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.pace = ImportPace(progress=0.02)
    with HeldInstall() as held:
        work = await begin_install(place, held, monkeypatch)
        place.store.write_sync(imports.delete, place.repo["id"])
        await asyncio.sleep(0.2)
        await clean_up(place.store, place.settings, [place.repo["id"]])
        assert len(place.left()) == 1, "the folder stays while the thread works in it"
    with pytest.raises(AssertionError):
        await work
    assert place.log()[0] == "Ada <ada@tower.example>"
    assert git(place.made, "fsck", "--strict") == ""
    assert place.left() == []


async def test_a_cancelled_second_mapping_keeps_the_former_store(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.done()
    place.rename("Ada", name="Eve")
    put, puts = directories.ImportDirectories.put, 0

    def putting(*given: Any) -> None:
        nonlocal puts
        put(*given)
        puts += 1
        if puts == 1:
            place.rename("Ada", name="Zoe")
        else:
            place.store.write_sync(imports.delete, place.repo["id"])

    monkeypatch.setattr(directories.ImportDirectories, "put", putting)
    with pytest.raises(AssertionError):
        await place.work()
    assert puts == 2
    assert place.log()[0] == "Ada <ada@tower.example>"
    assert place.left() == []


async def test_pruning_leaves_the_folders_of_running_imports(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.done()
    place.rename("Ada", name="Eve")
    place.store.write_sync(jobs.save_schedules, [JobSchedule("import", "", 0)])
    assert place.store.write_sync(jobs.claim, "import", "this worker")
    put, loop = directories.ImportDirectories.put, asyncio.get_running_loop()

    def putting(*given: Any) -> None:
        put(*given)
        place.store.write_sync(imports.delete, place.repo["id"])
        pruning = prune(place.store, place.settings)
        asyncio.run_coroutine_threadsafe(pruning, loop).result(PATIENCE)

    monkeypatch.setattr(directories.ImportDirectories, "put", putting)
    with pytest.raises(AssertionError):
        await place.work()
    assert place.log()[0] == "Ada <ada@tower.example>", "the former store came back"
    assert place.left() == []


def test_a_store_that_cannot_be_read_is_not_put_in_place(tmp_path: Path) -> None:
    places = directories.ImportDirectories(tmp_path)
    made = tmp_path / "imports" / "7-17" / "made.git"
    with pytest.raises(FileNotFoundError):
        places.put(made, 7)


def running(data_dir: Path) -> list[str]:
    """The command lines of the processes that name the data directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(data_dir) in command:
            found.append(command.replace(b"\0", b" ").decode())
    return found


@pytest.mark.parametrize(
    ("setting", "value"), [("import_timeout", 0.5), ("import_max_bytes", 200_000)]
)
async def test_limits_end_an_import(place: GitPlace, setting: str, value: float) -> None:
    place.pace = ImportPace(progress=0.02, size_every=1)
    place.site.repository("large", stream(50, 20_000))
    place.site.pause = 0.05
    place.start("/large.git")
    row = await place.work(**{setting: value})
    assert row["status"] == "error"
    assert row["failed_step"] in ("detecting", "importing")
    assert setting in row["error_message"]
    assert place.left() == []


async def test_programs_of_imports_have_limited_memory(tmp_path: Path) -> None:
    memory = 1 << 30
    asked = "ulimit -Sv; ulimit -Hv; sh -c 'ulimit -v'"
    assert await run("sh", "-c", asked, home=tmp_path, memory=memory) == b"1048576\n" * 3
    with pytest.raises(CommandFailed, match="MemoryError"):
        await run(sys.executable, "-c", f"bytes({memory})", home=tmp_path, memory=memory)


async def test_a_server_cannot_fill_the_worker_s_memory(tmp_path: Path) -> None:
    refs = ("head", "-c", str(40 * 1024**2), "/dev/zero")
    with pytest.raises(CommandFailed, match="its output is too large"):
        await run(*refs, home=tmp_path, memory=1 << 30)


async def test_a_program_ends_whose_output_fills_the_streams(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()

    def delay() -> None:
        # Meanwhile the program fills its pipes again.
        time.sleep(0.005)
        loop.call_soon(delay)

    loop.call_soon(delay)
    endless = "cat /dev/zero >&2 & exec cat /dev/zero"
    with pytest.raises(CommandFailed, match="its output is too large"):
        await run("sh", "-c", endless, home=tmp_path, memory=1 << 30)
    running = asyncio.ensure_future(run("sh", "-c", endless, home=tmp_path, memory=1 << 30))
    for _ in range(50):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_history_that_needs_too_much_memory_ends_the_import(place: GitPlace) -> None:
    small, large = b"data 100\n" + b"1" * 100, b"data 200000000\n" + bytes(200_000_000)
    # Otherwise git would unpack the large object, and pack it again for each fetch.
    packed = ("-c", "fastimport.unpackLimit=1")
    place.site.repository("bomb", stream(1).replace(small, large), *packed)
    place.start("/bomb.git")
    row = await place.work(import_max_memory=160_000_000)
    assert (row["status"], row["failed_step"]) == ("error", "importing")
    assert "memory" in row["error_message"].lower()
    assert place.left() == []


async def test_the_number_of_concurrent_imports_is_bounded(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [
        place.store.write_sync(repositories.create, place.octo["id"], f"r{at}") for at in range(3)
    ]
    url = place.site.url + "/bells.git"
    place.site.repository("other", stream(1))
    for repo in others:
        place.store.write_sync(imports.start, repo["id"], place.octo["id"], url)
    at_once, most, both = 0, 0, asyncio.Event()
    fetch = steps.ImportSteps.fetch

    async def fetching(self: Any, *given: Any) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        if at_once == 2:
            both.set()
        async with asyncio.timeout(PATIENCE):
            await both.wait()
        # Without the limit, the third import would begin now.
        await asyncio.sleep(0.1)
        await fetch(self, *given)
        at_once -= 1

    monkeypatch.setattr(steps.ImportSteps, "fetch", fetching)
    pace = ImportPace(poll=0.02)
    await run_imports(place.store, place.settings, place.emit, pace=pace)
    assert place.outcomes == ["success"] * 3
    assert most == 2


async def test_a_broken_repository_fails_the_import(place: GitPlace) -> None:
    bare = place.site.root / "bells.git"
    git(bare, "repack", "-adq")
    (pack,) = (bare / "objects" / "pack").glob("*.pack")
    pack.chmod(0o600)
    pack.write_bytes(pack.read_bytes()[:-100] + b"\0" * 100)
    row = await place.done()
    assert (row["status"], row["failed_step"]) == ("error", "importing")
    assert row["error_message"].startswith("git: ")
    assert str(place.data_dir) not in row["error_message"]
    assert place.outcomes == ["failure"]


async def test_git_is_not_installed(place: GitPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    row = await place.done(vcs="git")
    assert row["status"] == "error"


@pytest.mark.parametrize("error", [ValueError, Missing])
async def test_an_internal_error_is_logged_and_not_shown(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def broken(*_: Any) -> None:
        raise error("a mistake")

    monkeypatch.setattr(steps, "Survey", broken)
    row = await place.done()
    assert row["status"] == "error"
    assert row["error_message"] == (
        "The import could not be done. The cause is in the log of the worker."
    )


async def test_remains_of_a_crash_are_cleaned_up(place: GitPlace) -> None:
    await place.done()
    half = place.data_dir / "imports" / f"{place.repo['id']}-17"
    (half / "source.git").mkdir(parents=True)
    # The import was killed after it renamed the old repository and before it renamed the new one.
    place.made.rename(half / "replaced.git")
    await clean_up(place.store, place.settings)
    assert place.left() == []
    assert len(place.log()) == 3
    # The cleanup also removes the git store of a repository that was deleted.
    place.store.write_sync(lambda db: db.execute("DELETE FROM repository"))
    await clean_up(place.store, place.settings)
    assert not place.made.exists()


async def test_remains_of_a_killed_worker_go_with_the_next_import(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program of the killed worker is still writing while another worker restarts the import."""
    left = place.data_dir / "imports" / f"{place.repo['id']}-17" / "source.git"
    push = steps.ImportSteps.push

    async def pushed(*given: Any) -> Any:
        left.mkdir(parents=True)
        return await push(*given)

    monkeypatch.setattr(steps.ImportSteps, "push", pushed)
    await place.done()
    assert not left.exists()
    assert place.left() == []


def test_a_folder_is_emptied_until_all_writing_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    writes = 3
    empty = shutil.rmtree

    def emptied(folder: Path, **how: Any) -> None:
        nonlocal writes
        empty(folder, **how)
        if writes:
            writes -= 1
            (folder / "objects").mkdir(parents=True)

    monkeypatch.setattr(directories.shutil, "rmtree", emptied)
    directories.remove_tree(tmp_path / "7-17", retry_after=0)
    assert (writes, [*tmp_path.iterdir()]) == (0, [])
    assert not caplog.records
    writes = -1
    directories.remove_tree(tmp_path / "7-17", retry_after=0)
    assert "cannot be removed for now: 7-17" in caplog.text
    monkeypatch.undo()


def test_git_gets_a_clean_environment(place: GitPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    from worker.imports.git import Remote, environment

    for name in ("http_proxy", "GIT_DIR", "GIT_SSL_NO_VERIFY"):
        monkeypatch.setenv(name, "x")
    given = environment(place.data_dir, Remote("https://a.example/", username="a", password="b"))
    assert not {"http_proxy", "GIT_DIR", "GIT_SSL_NO_VERIFY"} & given.keys()
    assert given["GIT_ALLOW_PROTOCOL"] == "http:https"
    assert environment(place.data_dir)["GIT_ALLOW_PROTOCOL"] == "file"
