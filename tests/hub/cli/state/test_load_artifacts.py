"""State documents: artifacts."""

from typing import Any

import pytest

from store import Row, Store
from store.accounts import organizations
from store.artifacts import deployment_records, storage_records
from store.artifacts.deployment_records import DeploymentPlace
from store.artifacts.storage_records import Storage

DIGEST = "sha256:" + "a" * 64
DEPLOYMENT: dict[str, Any] = {
    "repository": "tower/bells",
    "digest": "A" * 64,
    "name": "ringer",
    "logical_environment": "production",
    "deployment_name": "web",
    "tags": {"b": "2", "a": "1"},
}
STORAGE: dict[str, Any] = {
    "repository": "tower/bells",
    "digest": DIGEST,
    "name": "ringer",
    "registry_url": "https://registry.example",
}
DOCUMENT: dict[str, Any] = {
    "users": [{"login": "ada"}],
    "organizations": [{"login": "tower"}],
    "repositories": [{"name": "tower/bells"}, {"name": "ada/engine"}],
    "attestations": [{"repository": "tower/bells", "digest": DIGEST}],
    "deployment_records": [DEPLOYMENT],
    "storage_records": [STORAGE],
}


def kept(store: Store) -> Row:
    tower = store.read_sync(organizations.by_login, "tower")
    return store.read_sync(
        deployment_records.get, tower["id"], DeploymentPlace("production"), "web"
    )


def copy(store: Store) -> Row:
    return store.read_sync(storage_records.get, 1, Storage("https://registry.example"))


def test_artifacts_are_made_once(load, store: Store):
    assert "7 created, 0 updated, 0 unchanged" in load(DOCUMENT).stdout
    row = kept(store)
    assert (row["digest"], row["status"]) == (DIGEST, "deployed")
    assert (row["tags"], row["runtime_risks"]) == ({"a": "1", "b": "2"}, [])
    assert row["attestation_id"] is not None
    assert copy(store)["status"] == "active"
    assert "0 created, 0 updated, 7 unchanged" in load(DOCUMENT).stdout


def test_changed_artifacts_are_updated(load, store: Store):
    load(DOCUMENT)
    short = {name: DEPLOYMENT[name] for name in DEPLOYMENT if name != "tags"}
    other = {
        "deployment_records": [short | {"status": "decommissioned"}],
        "storage_records": [STORAGE | {"artifact_url": "https://registry.example/x"}],
    }
    assert "0 created, 2 updated, 0 unchanged" in load(other).stdout
    assert "0 created, 0 updated, 2 unchanged" in load(other).stdout
    row = kept(store)
    assert (row["status"], row["tags"]) == ("decommissioned", {"a": "1", "b": "2"})


@pytest.mark.parametrize("tags", [{}, {"a": "1"}, {"a": "1", "b": "3"}])
def test_a_record_with_other_tags_is_updated(load, store: Store, tags: dict[str, str]):
    load(DOCUMENT)
    other = {"deployment_records": [DEPLOYMENT | {"tags": tags}]}
    assert "0 created, 1 updated, 0 unchanged" in load(other).stdout
    assert kept(store)["tags"] == tags
    assert "0 created, 0 updated, 1 unchanged" in load(other).stdout


def test_a_record_with_a_new_attestation_is_updated(load, store: Store):
    load(DOCUMENT | {"attestations": []})
    assert kept(store)["attestation_id"] is None
    assert "1 created, 1 updated, 5 unchanged" in load(DOCUMENT).stdout
    assert kept(store)["attestation_id"] is not None


def test_the_first_name_and_version_of_an_artifact_count(load, store: Store):
    other = {"name": "bell", "version": "2"}
    document = DOCUMENT | {
        "deployment_records": [
            DEPLOYMENT | {"version": "1"},
            DEPLOYMENT | other | {"deployment_name": "api"},
        ],
        "storage_records": [STORAGE | other],
    }

    def artifact() -> Row | None:
        return store.read_sync(lambda db: db.one("SELECT name, version, updated_at FROM artifact"))

    load(document)
    before = artifact()
    assert before is not None
    assert (before["name"], before["version"]) == ("ringer", "1")
    assert "0 created, 0 updated, 8 unchanged" in load(document).stdout
    assert artifact() == before


def test_records_keep_a_status_that_is_left_out(load, store: Store):
    load(
        DOCUMENT
        | {
            "deployment_records": [DEPLOYMENT | {"status": "decommissioned"}],
            "storage_records": [STORAGE | {"status": "eol"}],
        }
    )
    assert "0 created, 0 updated, 7 unchanged" in load(DOCUMENT).stdout
    assert kept(store)["status"] == "decommissioned"
    assert copy(store)["status"] == "eol"


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("attestations", {"digest": "x"}, "not a digest"),
        ("attestations", {"repository": "ada/engine"}, "is no repository of an organization"),
        ("deployment_records", {"repository": "tower/x"}, "there is no repository 'tower/x'"),
        ("deployment_records", {"runtime_risks": ["fire"]}, "Input should be"),
        ("deployment_records", {"logical_environment": ""}, "at least 1 character"),
        ("deployment_records", {"logical_environment": "e" * 129}, "at most 128 characters"),
        ("deployment_records", {"physical_environment": "e" * 129}, "at most 128 characters"),
        ("deployment_records", {"cluster": "c" * 129}, "at most 128 characters"),
        ("deployment_records", {"deployment_name": "d" * 257}, "at most 256 characters"),
        ("storage_records", {"registry_url": "http://x"}, "pattern"),
        ("storage_records", {"status": "gone"}, "Input should be"),
    ],
)
def test_a_wrong_artifact_is_refused(load, part: str, change: dict[str, Any], said: str):
    result = load(DOCUMENT | {part: [DOCUMENT[part][0] | change]}, code=2)
    assert f"{part}[0]" in result.output
    assert said in result.output


def test_repeated_artifacts_are_refused(load):
    for part in ("attestations", "deployment_records", "storage_records"):
        twice = DOCUMENT | {part: DOCUMENT[part] * 2}
        assert "occurs 2 times" in load(twice, code=2).output
