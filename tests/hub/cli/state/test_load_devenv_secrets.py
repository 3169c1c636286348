"""State documents: devenv secrets."""

from typing import Any

import pytest

from store import Store
from store.devenvs import devenv_secrets
from store.repositories import repositories

SECRET: dict[str, Any] = {"repository": "ada/engine", "name": "key", "value": "hush"}
DOCUMENT: dict[str, Any] = {
    "users": [{"login": "ada"}],
    "repositories": [{"name": "ada/engine"}],
    "devenv_secrets": [SECRET],
}


def kept(store: Store) -> bytes:
    repo = store.read_sync(repositories.find, "ada", "engine")
    row = store.read_sync(devenv_secrets.get, repo["id"], "KEY")
    return store.read_sync(devenv_secrets.value_of, row)


def test_secrets_are_created_once_and_updated(load, store: Store):
    first = load(DOCUMENT)
    assert "3 created, 0 updated, 0 unchanged" in first.stdout
    assert kept(store) == b"hush"
    assert "0 created, 0 updated, 3 unchanged" in load(DOCUMENT).stdout
    other = {"devenv_secrets": [SECRET | {"name": "Key", "value": "loud ü"}]}
    second = load(other)
    assert "0 created, 1 updated, 0 unchanged" in second.stdout
    assert kept(store) == "loud ü".encode()
    for secret in ("hush", "loud"):
        assert secret not in first.output + second.output


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"repository": "ada/nothing"}, "there is no repository 'ada/nothing'"),
        ({"name": "1st"}, "'1st' is no name"),
        ({"value": "x" * 50_000}, "49152"),
        ({"value": "ü" * 30_000}, "at most 49152 bytes"),
    ],
)
def test_a_wrong_secret_is_refused_without_its_value(load, change: dict[str, Any], said: str):
    result = load(DOCUMENT | {"devenv_secrets": [SECRET | change]}, code=2)
    assert "devenv_secrets[0]" in result.output
    assert said in result.output
    assert "xxxx" not in result.output


def test_devenv_secrets_that_are_named_twice(load):
    twice = DOCUMENT | {"devenv_secrets": [SECRET, SECRET | {"name": "KEY"}]}
    assert "'ada/engine key' occurs 2 times" in load(twice, code=2).output
