"""The number of sender processes: by processors, by the control group's limit, by the setting."""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from worker.senders.count import MOST, sender_count
from worker.settings import WorkerSettings

NO_LIMIT = Path("/nonexistent")


@pytest.mark.parametrize(("cores", "expected"), [(1, 0), (2, 1), (3, 2), (5, 4), (64, MOST)])
def test_by_default_one_less_than_the_processors(
    monkeypatch: pytest.MonkeyPatch, cores: int, expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))
    assert sender_count(WorkerSettings(), NO_LIMIT) == expected


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("max 100000", 3), ("200000 100000", 1), ("100000 100000", 0), ("50000 100000", 0), ("?", 3)],
)
def test_the_limit_of_the_control_group_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: str, expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(4)))
    file = tmp_path / "cpu.max"
    file.write_text(limit + "\n")
    assert sender_count(WorkerSettings(), file) == expected


@pytest.mark.parametrize("senders", [0, 1, 64])
def test_the_setting_decides(senders: int) -> None:
    assert sender_count(WorkerSettings(senders=senders)) == senders


@pytest.mark.parametrize("senders", [-1, 65])
def test_the_setting_has_bounds(senders: int) -> None:
    with pytest.raises(ValidationError, match="senders"):
        WorkerSettings(senders=senders)
