"""The vault: permissions of the key file, decryption with each key, signatures, and its repr."""

import os
import stat
import threading
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from store.crypto.vault import Vault, open_vault
from store.errors import Unusable


def test_a_sealed_text_opens() -> None:
    vault = Vault([Fernet.generate_key()])
    for text in ("It's a Secret to Everybody", "", "é\x00\U0001f511"):
        sealed = vault.seal(text)
        assert vault.open(sealed) == text
        assert vault.open(memoryview(sealed)) == text
        assert not text or text.encode() not in sealed


def test_the_same_text_is_sealed_differently_each_time() -> None:
    vault = Vault([Fernet.generate_key()])
    assert vault.seal("secret") != vault.seal("secret")


def test_the_newest_key_seals_and_older_ones_still_open() -> None:
    old, new = Fernet.generate_key(), Fernet.generate_key()
    before = Vault([old]).seal("from before")
    both = Vault([new, old])
    assert both.open(before) == "from before"
    after = both.seal("from now on")
    assert Vault([new]).open(after) == "from now on"
    with pytest.raises(Unusable):
        Vault([old]).open(after)


def test_another_key_is_a_clear_error() -> None:
    sealed = Vault([Fernet.generate_key()]).seal("secret")
    with pytest.raises(Unusable, match="restore the key file") as caught:
        Vault([Fernet.generate_key()]).open(sealed)
    assert "secret" not in str(caught.value).replace("a stored secret", "")
    assert caught.value.__cause__ is None


def test_a_changed_ciphertext_does_not_open() -> None:
    vault = Vault([Fernet.generate_key()])
    sealed = bytearray(vault.seal("secret"))
    sealed[20] ^= 1
    with pytest.raises(Unusable):
        vault.open(bytes(sealed))


def test_the_vault_never_shows_its_keys() -> None:
    key = Fernet.generate_key()
    vault = Vault([key])
    assert key.decode() not in repr(vault) + str(vault) + f"{vault}"


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_new_key_file_is_its_owners_only(tmp_path: Path, mask: int) -> None:
    path = tmp_path / "secret.key"
    before = os.umask(mask)
    try:
        vault = open_vault(path, create=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
    assert open_vault(path, create=True).open(vault.seal("secret")) == "secret"


def test_a_key_file_that_is_there_is_never_written(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    keys = Fernet.generate_key() + b"\n" + Fernet.generate_key() + b"\n"
    path.write_bytes(keys)
    open_vault(path, create=True)
    assert path.read_bytes() == keys


def test_a_missing_key_file_is_not_made_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"secret\.key.*starting for the first time, wait"):
        open_vault(tmp_path / "secret.key", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"\n", b"not a key\n", b"YWJj\n", b"\xff\xfe\n"])
def test_a_key_file_without_a_key_is_a_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "secret.key"
    path.write_bytes(content)
    with pytest.raises(Unusable, match="key"):
        open_vault(path, create=True)


def test_a_place_where_no_key_can_be_made_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"secret\.key"):
        open_vault(tmp_path / "missing" / "secret.key", create=True)
    with pytest.raises(Unusable):
        open_vault(tmp_path, create=False)


def test_processes_that_start_at_once_have_one_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second process opens the vault before the first has written its key."""
    path = tmp_path / "secret.key"
    generate = Fernet.generate_key
    second: list[bytes] = []

    def slowly() -> bytes:
        monkeypatch.setattr(Fernet, "generate_key", generate)
        thread = threading.Thread(
            target=lambda: second.append(open_vault(path, create=True).seal("secret"))
        )
        thread.start()
        thread.join()
        return generate()

    monkeypatch.setattr(Fernet, "generate_key", slowly)
    assert open_vault(path, create=True).open(second[0]) == "secret"


def test_a_signature_is_verified() -> None:
    vault = Vault([Fernet.generate_key()])
    signature = vault.sign("letter", "pay bob")
    assert vault.signed("letter", "pay bob", signature)
    for purpose, message, given in (
        ("order", "pay bob", signature),
        ("letter", "pay eve", signature),
        ("letter", "pay bob", signature[:-1]),
        ("letter", "pay bob", ""),
        ("letter", "pay bob", "\U0001f511"),
        ("letter", "pay bob", "\ud800"),
    ):
        assert not vault.signed(purpose, message, given)
    assert not Vault([Fernet.generate_key()]).signed("letter", "pay bob", signature)


def test_signatures_hold_while_the_key_is_exchanged(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    old, new = Fernet.generate_key(), Fernet.generate_key()
    path.write_bytes(old)
    here, there = (open_vault(path, create=False) for _ in range(2))
    before = here.sign("letter", "hello")
    path.write_bytes(new + b"\n" + old + b"\n")
    after = there.sign("letter", "hello")
    assert after != before
    for signature in (before, after):
        assert here.signed("letter", "hello", signature)
        assert there.signed("letter", "hello", signature)
    path.write_bytes(new + b"\n")
    assert not open_vault(path, create=False).signed("letter", "hello", before)
