"""`tocsin key rotate`: its steps, interruptions at each step, and copies of the key file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from installation import seed
from transactions import transaction

from hub.cli.operate import key as command
from hub.cli.operate import key_holders
from hub.cli.service.configuration import Settings
from hub.cli.service.daemon_record import recorded
from store import Store
from store.backup import key_rotation
from store.crypto import file_copy, key_file
from store.crypto.key_file import Key, KeyFileLock
from store.hooks import hook_queries, hooks


@pytest.fixture(autouse=True)
def credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which `key rotate` looks for systemd's copies of the key file."""
    monkeypatch.setattr(key_holders, "CREDENTIALS", tmp_path / "credentials")
    monkeypatch.setattr(command, "SETTLING", 0)
    return tmp_path / "credentials"


@pytest.fixture
def path(store: Store, directory: Path) -> Path:
    store.write_sync(seed)
    return directory / "secret.key"


@pytest.fixture
def rotate(run, url: str) -> Callable[..., Any]:
    """Return a function that runs `key rotate` as if no other machine used the database."""
    here = [] if url == "sqlite" else ["--only-here"]
    return lambda *args, **more: run("key", "rotate", *here, *args, **more)


def secrets(store: Store) -> list[str | None]:
    return store.read_sync(lambda db: [hooks.secret_of(db, row) for row in hook_queries.every(db)])


def values(path: Path) -> list[bytes]:
    return [key.value for key in key_file.read_keys(path)]


def steps(listed) -> list[str]:
    return [row["outcome"] for row in listed("audit", "list", "--what", "tocsin key rotate")][::-1]


def test_the_key_is_rotated_in_one_go(rotate, run, listed, store, path):
    (old,) = key_file.read_keys(path)
    said = rotate()
    (new,) = key_file.read_keys(path)
    assert new.value != old.value
    assert new.note.startswith("since 20")
    for line in (
        f"made the key {new.fingerprint}; for now it only decrypts",
        f"the key {new.fingerprint} encrypts from now on",
        "hook.secret: 1 encrypted again",
        f"deleted the key {old.fingerprint}",
    ):
        assert line in said.stdout
    assert "earlier backups need the old key" in said.stderr
    assert old.value.decode() not in said.output
    assert new.value.decode() not in said.output
    # The store was open during the rotation, and the commands open it after the rotation.
    assert secrets(store) == ["hush"]
    run("status")
    run("audit", "verify")
    assert steps(listed) == ["announced", "sealed anew", "finished"]
    (row,) = listed("audit", "list", "--what", "tocsin key rotate", "--limit", 1)
    assert row["more"]["key"] == new.fingerprint


def test_each_rotation_makes_a_new_key(rotate, store, path):
    keys = set()
    for _ in range(3):
        rotate()
        keys.update(values(path))
    assert len(keys) == 3
    assert secrets(store) == ["hush"]


class Killed(BaseException):
    """Raised to end the rotation at one step."""


@pytest.mark.parametrize("at", range(4))
def test_a_rotation_can_be_finished_after_a_kill_at_any_step(
    rotate, run, store, path, monkeypatch, at
):
    """After each kill, the secrets can be decrypted, and the same command finishes the rotation."""
    (old,) = values(path)
    written = 0
    real_replace, real_portion = KeyFileLock.replace, key_rotation.rotate_portion

    def replace(self: KeyFileLock, keys: list[Key]) -> None:
        nonlocal written
        real_replace(self, keys)
        written += 1
        if written == at + 1:
            raise Killed

    def portion(*args: Any) -> Any:
        result = real_portion(*args)
        if at == 3 and args[1].table == "hook":
            raise Killed
        return result

    with monkeypatch.context() as patched:
        patched.setattr(KeyFileLock, "replace", replace)
        patched.setattr(key_rotation, "rotate_portion", portion)
        with pytest.raises(Killed):
            rotate()
    assert secrets(store) == ["hush"]
    run("status")
    rotate()
    left = values(path)
    assert len(left) == 1
    assert old not in left
    assert secrets(store) == ["hush"]


def test_a_key_that_was_put_first_by_hand_is_used(rotate, store, path):
    """A restore can leave the key file in this state, with two keys."""
    old, new = key_file.read_keys(path)[0], key_file.generate()
    path.write_bytes(new.value + b"\n" + old.value + b"\n")
    rotate()
    assert values(path) == [new.value]
    assert secrets(store) == ["hush"]


def test_a_secret_that_no_key_opens_keeps_the_old_keys(rotate, store, path):
    with transaction(store) as db:
        repo_id = hook_queries.every(db)[0]["repo_id"]
        made = hooks.create(
            db, repo_id, url="https://receiver.example/2", events=["push"], secret="s"
        )
        db.execute("UPDATE hook SET secret = :bad WHERE id = :id", bad=b"?", id=made["id"])
    refused = rotate(code=1)
    assert "hook.secret: 1 encrypted again, no key decrypts 1" in refused.stdout
    assert "no key decrypts 1 secrets" in refused.stderr
    assert len(values(path)) == 2
    store.write_sync(lambda db: db.execute("DELETE FROM hook WHERE secret = :bad", bad=b"?"))
    rotate()
    assert len(values(path)) == 1


def test_services_with_a_copy_of_the_key_are_named(rotate, store, path, credentials):
    """Each service restarts twice: first to decrypt with the new key, then to encrypt with it."""
    service = credentials / "tocsin.service" / "secret.key"
    other = credentials / "tocsin-test.service" / "secret.key"
    for place in (service, other):
        place.parent.mkdir(parents=True)
    service.write_bytes(path.read_bytes())
    other.write_bytes(key_file.generate().value)
    (old,) = values(path)
    for _ in range(2):
        said = rotate(code=3).stdout
        assert "tocsin.service does not have the key" in said
        assert "systemctl restart tocsin.service`" in said
        assert values(path)[0] == old, "the new key does not encrypt yet"
    service.write_bytes(path.read_bytes())
    said = rotate(code=3).stdout
    assert "encrypts from now on" in said
    assert "hook.secret: 1 encrypted again" in said
    assert "tocsin.service does not encrypt with the key" in said
    assert values(path)[1:] == [old]
    service.write_bytes(path.read_bytes())
    assert "deleted the key" in rotate().stdout
    assert old not in values(path)
    assert secrets(store) == ["hush"]


def test_an_unreadable_copy_of_the_key_is_reported(rotate, path, credentials, monkeypatch):
    service = credentials / "tocsin.service" / "secret.key"
    service.parent.mkdir(parents=True)
    service.touch()
    real = key_file.read_file

    def read(file: Path) -> bytes:
        if file == service:
            raise PermissionError(13, "Permission denied")
        return real(file)

    monkeypatch.setattr(key_file, "read_file", read)
    assert "rotate the key as root" in rotate(code=1).stderr


def test_other_machines(run, store, path, url):
    if url == "sqlite":
        run("key", "rotate")
        return
    (old,) = values(path)
    said = run("key", "rotate", code=3).stdout
    assert "the other machines do not have the key" in said
    assert f"copy {path} to all of them" in said
    assert run("key", "rotate", code=3).stdout == said.split("\n", 1)[1]
    assert values(path)[0] == old
    said = run("key", "rotate", "--everywhere", code=3).stdout
    assert "the other machines do not encrypt with the key" in said
    assert values(path)[1:] == [old]
    said = run("key", "rotate", "--everywhere")
    assert "deleted the key" in said.stdout
    assert "once more" in said.stderr
    assert old not in values(path)
    assert secrets(store) == ["hush"]


def test_an_unwritable_key_file_is_reported(rotate, path, monkeypatch):
    def refused(*args: Any, **more: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(file_copy, "make_private", refused)
    said = rotate(code=1).stderr
    assert f"cannot write the key file {path}: Read-only file system" in said
    assert "--key-file" in said


def test_another_key_file_can_be_named(run, directory, store, url, path):
    moved = directory / "elsewhere.key"
    path.rename(moved)
    here = [] if url == "sqlite" else ["--only-here"]
    run("key", "rotate", *here, code=4)
    run("key", "rotate", *here, "--key-file", moved)
    assert not path.exists()


def test_the_running_daemons_key_file_is_used_unless_one_is_named(run, directory, monkeypatch):
    (directory / "secret.key").rename(directory / "daemon.key")
    key_file.create_key_file(directory / "own.key")
    settings = Settings(data_dir=directory, key_file=directory / "daemon.key")
    with recorded(settings, None):
        of_daemon = run("key", "list").stdout
        monkeypatch.setenv("TOCSIN_KEY_FILE", str(directory / "own.key"))
        own = run("key", "list").stdout
    assert of_daemon.split()[0] == key_file.read_keys(directory / "daemon.key")[0].fingerprint
    assert own.split()[0] == key_file.read_keys(directory / "own.key")[0].fingerprint
