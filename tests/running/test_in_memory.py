"""Tests make temporary folders in memory, unless TMPDIR is set or memory has no room."""

import os
import tempfile
from pathlib import Path

import in_memory
import pytest


def test_a_given_tmpdir_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = tempfile.gettempdir()
    in_memory.use_memory()
    assert os.environ["TMPDIR"] == str(tmp_path)
    assert tempfile.gettempdir() == before


def test_a_folder_in_memory_is_used_by_this_process_and_those_that_it_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(in_memory, "MEMORY", tmp_path)
    monkeypatch.setattr(in_memory, "ROOM", 1)
    in_memory.use_memory()
    assert os.environ["TMPDIR"] == tempfile.gettempdir() == str(tmp_path)


def test_a_folder_without_room_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(in_memory, "ROOM", 2**63)
    assert not in_memory.suits(tmp_path)
    assert not in_memory.suits(tmp_path / "none")
