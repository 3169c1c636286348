"""The key file: its content, its lock, and its atomic replacement."""

import os
import stat
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from store.crypto import file_copy, key_file
from store.crypto.key_file import Key
from store.crypto.vault import open_vault
from store.errors import Conflict, Unusable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "secret.key"
    key_file.create_key_file(path)
    return path


def test_lines_and_comments(path: Path) -> None:
    one, two, three = (Fernet.generate_key() for _ in range(3))
    path.write_bytes(
        b"# the keys\n\n" + one + b"\n" + two + b" # next since 2026\r\n  " + three + b"#x"
    )
    keys = key_file.read_keys(path)
    assert keys == [Key(one), Key(two, "next since 2026"), Key(three, "x")]
    assert [key.decrypt_only for key in keys] == [False, True, False]


def test_a_pipe_is_read_without_waiting_for_a_writer(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    os.mkfifo(path)
    for read in (key_file.read_keys, lambda path: open_vault(path, create=True)):
        with pytest.raises(Unusable, match="it is a pipe without content"):
            read(path)
    with pytest.raises(Unusable, match="pipe without"), key_file.lock_key_file(path) as holder:
        key_file.read_keys(holder.path)
    # A pipe keeps its content while it is open.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK)):
        path.write_bytes(content)
        assert key_file.read_keys(path) == key_file.parse(content)


def test_a_key_is_never_shown(path: Path) -> None:
    (key,) = key_file.read_keys(path)
    assert key.value.decode() not in repr(key)
    assert key.fingerprint in repr(key)
    assert len(key.fingerprint) == 8


def test_keys_are_exchanged(path: Path) -> None:
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 12, 34)
    (old,) = key_file.read_keys(path)
    new = key_file.generate("since now")
    with key_file.lock_key_file(path) as holder:
        holder.replace([new, old])
        assert key_file.read_keys(path) == [new, old]
        holder.replace([new])
    assert key_file.read_keys(path) == [new]
    status = path.stat()
    assert stat.S_IMODE(status.st_mode) == 0o640
    if os.geteuid() == 0:
        assert (status.st_uid, status.st_gid) == (12, 34)
    assert list(path.parent.iterdir()) == [path]


def test_the_next_change_deletes_the_keys_of_a_killed_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*args: object) -> None:
        raise KeyboardInterrupt

    with key_file.lock_key_file(path) as holder:
        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", lambda *args, **more: None)
            patched.setattr(Path, "replace", killed)
            with pytest.raises(KeyboardInterrupt):
                holder.replace([key_file.generate()])
        assert len(list(path.parent.iterdir())) == 2
        holder.replace([key_file.generate()])
    assert list(path.parent.iterdir()) == [path]


def test_one_changes_it_at_a_time(path: Path) -> None:
    with key_file.lock_key_file(path) as holder:
        for _ in range(2):
            with pytest.raises(Conflict, match="is being changed"), key_file.lock_key_file(path):
                pass
            holder.replace([key_file.generate()])
    with key_file.lock_key_file(path):
        pass


def test_an_unwritable_key_file_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def refused(*args: object, **more: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(file_copy, "make_private", refused)
    with (
        key_file.lock_key_file(path) as holder,
        pytest.raises(Unusable, match="Read-only file system"),
    ):
        holder.replace([key_file.generate()])
    assert path.read_bytes() == before
    with (
        pytest.raises(Unusable, match="cannot read"),
        key_file.lock_key_file(path.with_name("none")),
    ):
        pass


def test_a_vault_notices(path: Path) -> None:
    """An open vault reads a changed key file by itself, to encrypt and to decrypt."""
    daemon, other = open_vault(path, create=False), open_vault(path, create=False)
    before = daemon.seal("before")
    old, new = key_file.read_keys(path)[0], key_file.generate()
    with key_file.lock_key_file(path) as holder:
        holder.replace([new, old])
    after = other.seal("after")
    assert daemon.open(after) == "after"
    assert daemon.open(before) == "before"
    assert daemon.sealed_with_current_key(after)
    assert not daemon.sealed_with_current_key(before)
    assert other.sealed_with_current_key(daemon.seal("again"))
    with key_file.lock_key_file(path) as holder:
        holder.replace([new])
    assert not daemon.can_open(other.seal("x")[:-1])
    assert not other.can_open(before)


@pytest.mark.parametrize("content", [None, b"", b"half a key\n"])
def test_an_open_vault_works_without_its_file(path: Path, content: bytes | None) -> None:
    """A missing or invalid key file is an error only when a vault is opened."""
    vault = open_vault(path, create=False)
    sealed = vault.seal("before")
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    assert vault.open(sealed) == "before"
    assert vault.open(vault.seal("after")) == "after"
