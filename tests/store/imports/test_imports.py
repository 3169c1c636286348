"""Imports in the store: rounds, reports of workers, and the names of authors."""

from collections.abc import Callable
from typing import Any

import pytest
from racing import overlap

from store import Connection, Row, Store
from store.accounts import accounts
from store.errors import Invalid, Missing
from store.imports import import_contents, import_rounds, imports
from store.imports.import_contents import Author, LargeFile
from store.repositories import repositories

URL = "https://source.example/a.git"
ADA = Author("1" * 40, "Ada", "ada@tower.example")
BOB = Author("2" * 40, "Bob", "bob@tower.example")


@pytest.fixture
def octo(store: Store) -> Row:
    return store.write_sync(accounts.create, "octo")


@pytest.fixture
def repos(store: Store, octo: Row) -> list[Row]:
    return [store.write_sync(repositories.create, octo["id"], f"r{at}") for at in range(3)]


@pytest.fixture
def start(store: Store, octo: Row, repos: list[Row]) -> Callable[..., Row]:
    def begin(at: int = 0, **given: Any) -> Row:
        return store.write_sync(imports.start, repos[at]["id"], octo["id"], URL, **given)

    return begin


def taken(store: Store, *busy: int) -> Row:
    row = store.write_sync(import_rounds.claim, busy)
    assert row is not None
    return row


def test_a_given_kind_skips_the_detection(store: Store, start: Callable[..., Row]) -> None:
    assert (start()["status"], start(1, vcs="git")["status"]) == ("detecting", "importing")
    assert start(2, project="a")["project"] == "a"


def test_a_repository_has_one_import_at_a_time(
    store: Store, start: Callable[..., Row], repos: list[Row]
) -> None:
    start()
    with pytest.raises(Invalid, match="under way"):
        start()
    row = taken(store)
    store.write_sync(import_contents.put_authors, repos[0]["id"], [ADA])
    assert store.write_sync(import_rounds.stop, row, "error", "It broke", "importing")
    assert start()["error_message"] is None
    # The new import has deleted the data of the former one.
    assert store.read_sync(import_contents.authors, repos[0]["id"], limit=5) == []


def test_imports_are_claimed_in_order_and_once(
    store: Store, start: Callable[..., Row], repos: list[Row]
) -> None:
    assert store.read_sync(import_rounds.next_due) is None
    rows = [start(at) for at in range(3)]
    assert store.read_sync(import_rounds.next_due) == rows[0]["due_at"]
    first = taken(store)
    assert first["repo_id"] == repos[0]["id"]
    second = taken(store, first["repo_id"])
    assert second["repo_id"] == repos[1]["id"]
    third = taken(store, first["repo_id"], second["repo_id"])
    everything = [row["repo_id"] for row in (first, second, third)]
    assert not store.read_sync(import_rounds.is_due, everything)
    assert store.write_sync(import_rounds.claim, everything) is None
    assert store.read_sync(import_rounds.rounds) == {
        row["repo_id"]: row["round"] for row in (first, second, third)
    }


def test_rounds_without_an_end_are_counted(
    store: Store, octo: Row, start: Callable[..., Row]
) -> None:
    assert start()["tries"] == 0
    late, row = taken(store), taken(store)
    assert row["tries"] == 2
    assert store.write_sync(import_rounds.release, row)
    assert not store.write_sync(import_rounds.release, late)
    assert taken(store)["tries"] == 2
    assert store.write_sync(imports.restart, row, octo["id"], {})["tries"] == 0


def test_a_late_worker_changes_nothing(store: Store, start: Callable[..., Row]) -> None:
    started = start()
    before, now = taken(store), taken(store)
    for late in (started, before):
        assert not store.read_sync(import_rounds.is_current, late)
        assert not store.write_sync(import_rounds.report_progress, late, {"import_percent": 50})
        assert not store.write_sync(import_rounds.stop, late, "error", "Late")
        assert not store.write_sync(import_rounds.choose, late, [{"tfvc_project": "a"}])
        assert store.write_sync(import_rounds.complete, late, {}) is None
    assert store.write_sync(
        import_rounds.report_progress, now, {"import_percent": 50, "status": "importing"}
    )
    row = store.read_sync(imports.needed, now["repo_id"])
    assert (row["status"], row["import_percent"], row["project_choices"]) == ("importing", 50, [])
    store.write_sync(imports.delete, now["repo_id"])
    start()
    assert not store.read_sync(import_rounds.is_current, now)


def test_an_ended_import_takes_no_report(store: Store, start: Callable[..., Row]) -> None:
    start()
    row = taken(store)
    assert store.write_sync(import_rounds.complete, row, {})
    assert not store.write_sync(import_rounds.report_progress, row, {"push_percent": 50})
    assert not store.write_sync(import_rounds.stop, row, "error", "Late")
    assert store.read_sync(import_rounds.next_due) is None


def test_a_restart_keeps_unnamed_fields(store: Store, octo: Row, start: Callable[..., Row]) -> None:
    start(username="ada", password="hush", vcs="git")
    row = taken(store)
    store.write_sync(import_rounds.stop, row, "auth_failed")
    again = store.write_sync(imports.restart, row, octo["id"], {"username": "eve"})
    assert (again["status"], again["username"], again["vcs"]) == ("importing", "eve", "git")
    assert store.read_sync(imports.password_of, again) == "hush"
    again = store.write_sync(imports.restart, row, octo["id"], {"password": "x"})
    assert store.read_sync(imports.password_of, again) == "x"
    assert store.read_sync(import_rounds.next_due) is not None


def test_an_import_waits_for_a_choice(store: Store, octo: Row, start: Callable[..., Row]) -> None:
    start()
    row = taken(store)
    choices = [{"vcs": "git", "tfvc_project": "a", "human_name": "a (git)"}]
    assert store.write_sync(import_rounds.choose, row, choices)
    row = store.read_sync(imports.needed, row["repo_id"])
    assert (row["status"], row["project_choices"]) == ("detection_found_multiple", choices)
    row = store.write_sync(imports.restart, row, octo["id"], {"project": "a"})
    assert (row["status"], row["project"], row["project_choices"]) == ("detecting", "a", [])


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_deletion_finds_the_end_that_came_first(
    store: Store, other: Store, url: str, start: Callable[..., Row]
) -> None:
    start()
    row = taken(store)
    first = (store, lambda db: import_rounds.complete(db, row, {}))
    ended, deleted = overlap(url, first, (other, lambda db: imports.delete(db, row["repo_id"])))
    assert ended
    assert deleted == "complete"


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_an_import_that_is_cancelled_meanwhile_is_not_claimed(
    store: Store, other: Store, url: str, start: Callable[..., Row]
) -> None:
    repo_id = start()["repo_id"]
    first = (store, lambda db: imports.delete(db, repo_id))
    _, claimed = overlap(url, first, (other, lambda db: import_rounds.claim(db, ())))
    assert claimed is None


def test_authors_of_an_import(store: Store, start: Callable[..., Row]) -> None:
    repo_id = start()["repo_id"]
    store.write_sync(import_contents.put_authors, repo_id, [ADA, BOB])
    ada, bob = store.read_sync(import_contents.authors, repo_id, limit=5)
    assert (ada["remote_name"], ada["remote_id"]) == ("Ada", "ada@tower.example")
    assert store.read_sync(import_contents.authors, repo_id, since=ada["id"], limit=5) == [bob]
    assert store.read_sync(import_contents.authors, repo_id, limit=1) == [ada]
    assert store.read_sync(import_contents.renamed, repo_id) == {}
    store.write_sync(import_contents.rename, bob, name="Robert", email="bob@tower.example")
    named = {BOB.digest: ("Robert", "bob@tower.example")}
    assert store.read_sync(import_contents.renamed, repo_id) == named
    # Bob is found again and keeps his new name. Ada is not, so she is removed.
    store.write_sync(import_contents.put_authors, repo_id, [BOB])
    assert {*store.read_sync(import_contents.digests, repo_id)} == {ADA.digest, BOB.digest}
    store.write_sync(import_contents.remove_authors, repo_id, [ADA.digest])
    (only,) = store.read_sync(import_contents.authors, repo_id, limit=5)
    assert only == bob | {"name": "Robert"}
    assert store.read_sync(import_contents.author, repo_id + 1, only["id"]) is None


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_two_changes_of_an_author_keep_each_other(
    store: Store, other: Store, url: str, start: Callable[..., Row]
) -> None:
    repo_id = start()["repo_id"]
    store.write_sync(import_contents.put_authors, repo_id, [ADA])
    (ada,) = store.read_sync(import_contents.authors, repo_id, limit=1)
    first = (store, lambda db: import_contents.rename(db, ada, name="Eve"))
    _, after = overlap(
        url, first, (other, lambda db: import_contents.rename(db, ada, email="eve@x.example"))
    )
    assert after == ada | {"name": "Eve", "email": "eve@x.example"}
    store.write_sync(import_contents.remove_authors, repo_id, [ADA.digest])
    with pytest.raises(Missing):
        store.write_sync(lambda db: import_contents.rename(db, ada, name="Ada"))


def test_authors_renamed_during_an_import_are_mapped_again(
    store: Store, start: Callable[..., Row]
) -> None:
    start()
    row = taken(store)
    store.write_sync(import_contents.put_authors, row["repo_id"], [ADA])

    def call(db: Connection, name: str) -> None:
        imports.remap(db, row["repo_id"])
        (ada,) = import_contents.authors(db, row["repo_id"], limit=1)
        import_contents.rename(db, ada, name=name, email=ada["email"])

    store.write_sync(call, "Eve")
    assert store.read_sync(import_rounds.is_current, row), "the running import maps the new name"
    assert store.write_sync(import_rounds.complete, row, {}) is False
    names = store.read_sync(import_contents.renamed, row["repo_id"])
    assert store.write_sync(import_rounds.complete, row, names)
    store.write_sync(call, "Ada")
    assert store.read_sync(imports.needed, row["repo_id"])["status"] == "mapping"
    assert store.read_sync(import_rounds.next_due) is not None


def test_large_files_are_kept_with_the_import(store: Store, start: Callable[..., Row]) -> None:
    repo_id = start()["repo_id"]
    found = [LargeFile("refs/heads/main", f"{at}.bin", "a" * 40, at) for at in range(3)]
    for _ in range(2):
        store.write_sync(import_contents.put_large_files, repo_id, found, count=5, size=10**12)
    row = store.read_sync(imports.needed, repo_id)
    assert (row["large_files_count"], row["large_files_size"]) == (5, 10**12)
    listed = store.read_sync(import_contents.large_files, repo_id)
    assert listed == [one._asdict() for one in found]


def test_a_repository_without_an_import_has_nothing_to_change(
    store: Store, repos: list[Row]
) -> None:
    repo_id = repos[0]["id"]
    assert store.read_sync(imports.get, repo_id) is None
    assert not store.write_sync(imports.delete, repo_id)
    for ask in (imports.remap, imports.needed):
        with pytest.raises(Missing):
            store.write_sync(ask, repo_id)
    with pytest.raises(Missing):
        store.write_sync(imports.set_preferences, repo_id, "opt_in")


def test_an_import_is_removed_with_its_repository(store: Store, start: Callable[..., Row]) -> None:
    row = start()
    store.write_sync(
        lambda db: db.execute("DELETE FROM repository WHERE id = :id", id=row["repo_id"])
    )
    assert store.read_sync(import_rounds.next_due) is None
