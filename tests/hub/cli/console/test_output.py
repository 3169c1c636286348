"""Tables, JSON and log lines."""

import logging
import os
import sys
import tempfile

import pytest

from hub.cli.console import output
from hub.cli.service import logs


def shown(rows, capsys) -> str:
    output.print_rows(rows, as_json=False, empty="none")
    return capsys.readouterr().out


def test_a_table_is_not_folded_and_leaves_out_what_is_empty(capsys):
    text = shown([{"id": 1, "url": "x" * 300, "none": None, "tags": []}], capsys)
    assert "x" * 300 in text
    assert "none" not in text
    assert "tags" not in text


def test_markup_and_control_characters_stay_text(capsys):
    text = shown([{"name": "[red]\x1b[2J\n\x9b"}], capsys)
    assert r"[red]\x1b[2J\n\x9b" in text


def test_times():
    moment = output.format_time(1_700_000_000_123_456)
    assert str(output.cell(moment)) == "2023-11-14 22:13:20"
    assert output.dumps({"at": moment}, indent=False) == '{"at":"2023-11-14T22:13:20.123456Z"}'


@pytest.mark.parametrize("journal", [False, True])
def test_a_record_is_one_line(journal):
    record = logging.LogRecord("tocsin.x", logging.WARNING, "", 0, "a\nb %s", ("c",), None)
    record.created = 1_700_000_000.5
    start = "<4>" if journal else "2023-11-14T22:13:20.500000Z "
    assert logs.LineFormatter(journal=journal).format(record) == f"{start}WARNING tocsin.x a\\nb c"


def test_the_journal_is_told_by_its_stream(monkeypatch):
    with tempfile.TemporaryFile("w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        assert not logs.is_journal()
        status = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        assert logs.is_journal()
