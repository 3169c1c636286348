"""State documents: source imports."""

import json
from typing import Any

import pytest

from store import Row, Store
from store.imports import import_rounds, imports
from store.repositories import repositories

WORLD: dict[str, Any] = {
    "users": [{"login": "ada"}],
    "repositories": [{"name": "ada/engine"}],
}
IMPORT = {"repository": "ada/engine", "vcs_url": "https://source.example/a.git"}


@pytest.fixture
def load(run, url: str):
    def call(code: int = 0, **given: Any):
        document = WORLD | {"imports": [IMPORT | given]}
        return run("load", "-", "--json", code=code, stdin=json.dumps(document))

    return call


def outcome(said) -> str:
    return json.loads(said.stdout)["changes"][-1]["outcome"]


def row(store: Store) -> Row:
    repo = store.read_sync(repositories.find, "ada", "engine")
    assert repo is not None
    return store.read_sync(imports.needed, repo["id"])


def test_an_import_is_created_and_updated(load, store: Store):
    said = load(vcs="git", vcs_username="ada", vcs_password="hush")
    assert outcome(said) == "created"
    assert "hush" not in said.stdout
    begun = row(store)
    assert (begun["status"], begun["username"], begun["use_lfs"]) == (
        "importing",
        "ada",
        "undecided",
    )
    assert store.read_sync(imports.password_of, begun) == "hush"
    assert outcome(load()) == "unchanged"
    assert outcome(load(use_lfs="opt_out")) == "updated"
    assert outcome(load(use_lfs="opt_out")) == "unchanged"
    assert row(store)["round"] == begun["round"]


def test_a_new_import_waits_for_the_end_of_the_former_one(load, store: Store):
    load()
    other = {"vcs_url": "https://source.example/b.git"}
    assert "under way" in load(code=2, **other).stderr
    store.write_sync(import_rounds.stop, row(store), "error", "It broke")
    assert outcome(load(**other)) == "updated"
    assert row(store)["status"] == "detecting"


def test_a_wrong_import_is_refused(load):
    for name, wrong in (("vcs_url", "file:///etc"), ("vcs", "cvs"), ("vcs_username", "a\nb")):
        assert f"imports[0].{name}" in load(code=2, **{name: wrong}).stderr
