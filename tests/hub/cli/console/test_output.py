"""Tables, JSON and log lines."""

import logging
import os
import re
import sys
import tempfile
import time

import click
import pytest

from hub.cli.console import output, tables, times
from hub.cli.service import logs
from store import clock
from store.clock import Clock

WIDTH = 80
LONG = "https://receiver.example/a/path/that/is/longer/than/any/terminal/is/wide/hooks/of/the/tower"
MOMENT = 1_700_000_000_123_456


@pytest.fixture
def terminal(monkeypatch):
    """Make standard output a terminal of 80 columns in the time zone of Berlin."""
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def shown(rows, capsys, **given) -> str:
    output.print_rows(rows, as_json=False, empty="none", **given)
    return capsys.readouterr().out


def row(**given):
    return {
        "id": 12_345,
        "event": "pull_request_review_comment",
        "guid": "01a20480-aec9-7167-b1eb-873bc466d9f3",
        "url": LONG,
        "state": "waiting",
        "received_at": output.format_time(MOMENT),
    } | given


def test_a_table_fits_the_terminal(capsys, terminal):
    text = shown([row(), row(url="https://short.example/")], capsys)
    lines = text.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert "01a20480…" in text
    assert "2023-11-14 23:13" in text
    assert "12345" in text
    assert "receiver.ex" in lines[1], "a URL keeps its beginning"
    assert "tower" in lines[1], "a URL keeps its end"
    assert "https://" not in text


def test_a_table_leaves_out_empty_columns(capsys, terminal):
    text = shown([{"id": 1, "none": None, "tags": [], "map": {}}], capsys)
    assert text.split() == ["id", "1"]


def test_a_table_has_the_columns_that_are_asked_for(capsys, terminal):
    assert shown([row()], capsys, columns=("id", "state")).split() == [
        "id", "state", "12345", "waiting",
    ]  # fmt: skip


def test_a_table_with_room_shortens_nothing_but_ids(capsys, terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert LONG.removeprefix("https://") in shown([row()], capsys)


def test_numbers_and_times_are_never_cut():
    cells = {"url": [LONG], "id": ["123456789012"], "received_at": ["11-22 18:49:21"]}
    found = tables.widths(cells, {"id", "received_at"}, 10)
    assert found == {"url": 8, "id": 12, "received_at": 14}


def test_names_and_urls_keep_more_of_a_narrow_table_than_other_texts():
    cells = {name: ["x" * 60] for name in ("target", "url", "state", "problem")}
    found = tables.widths(cells, set(), 80)
    assert found["target"] == found["url"] > found["state"] == found["problem"]
    assert sum(found.values()) + 3 * tables.GAP == 80


def test_a_column_is_spared_only_if_urls_have_too_little_room(capsys, terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert "state" in shown([row()], capsys, columns=("url", "state"), spare=("state",))
    columns = ("id", "event", "url", "state")
    assert "state" not in shown([row()], capsys, columns=columns, spare=("state",))
    assert "state" in shown([row()], capsys, columns=columns)
    short = row() | {"event": "push", "url": "https://ci.example/x"}
    assert "state" in shown([short], capsys, columns=columns, spare=("state",))


@pytest.mark.parametrize("room", range(8, 100))
def test_a_shortened_text_has_the_width_that_there_is(room):
    for name in ("url", "problem"):
        assert len(tables.shortened(name, LONG, room)) == min(room, len(LONG))


def test_a_pipe_gets_a_line_with_tabs_for_each_row(capsys):
    text = shown([row(note=None, tags=["a", "b"], none=[], yes=True)], capsys)
    assert text.rstrip("\n").split("\t") == [
        "12345", "pull_request_review_comment", "01a20480-aec9-7167-b1eb-873bc466d9f3", LONG,
        "waiting", "2023-11-14T22:13:20Z", "", "a, b", "", "yes",
    ]  # fmt: skip


def test_no_rows_are_an_advice_beside_the_output(capsys):
    output.print_rows([], as_json=False, empty="make one")
    reported = capsys.readouterr()
    assert (reported.out, reported.err) == ("", "make one\n")


def test_markup_and_control_characters_stay_text(capsys, terminal):
    text = shown([{"name": "[red]\x1b[2J\n\x9b\t"}], capsys)
    assert r"[red]\x1b[2J\n\x9b\t" in text


def test_control_characters_of_a_note_are_escaped(capsys):
    output.print_note("hook \x1b[2J\nof another hub")
    assert capsys.readouterr().err == "hook \\x1b[2J\nof another hub\n"


def test_control_characters_and_tabs_are_no_new_fields(capsys):
    assert shown([{"name": "a\tb\nc"}], capsys) == "a\\tb\\nc\n"


def test_one_thing_is_a_line_for_each_member(capsys, terminal):
    output.print_record({"id": 1, "received_at": output.format_time(MOMENT)}, as_json=False)
    assert capsys.readouterr().out == ("id           1\nreceived at  2023-11-14 23:13:20 CET\n")


def test_one_thing_in_a_pipe_is_names_and_values(capsys):
    output.print_record({"id": 1, "received_at": output.format_time(MOMENT)}, as_json=False)
    assert capsys.readouterr().out == "id\t1\nreceived_at\t2023-11-14T22:13:20Z\n"


def test_a_list_of_objects_and_an_object_in_an_object_are_json(capsys):
    consumers = [{"name": "ci", "attached": False, "since": output.format_time(MOMENT)}]
    record = {"consumers": consumers, "options": {"signatures": ["v1", "v1a"], "draining": False}}
    output.print_record(record, as_json=False)
    assert capsys.readouterr().out == (
        'consumers\t{"name":"ci","attached":false,"since":"2023-11-14T22:13:20.123456Z"}\n'
        'options\tsignatures=["v1","v1a"], draining=no\n'
    )


def test_times_are_local_and_in_utc_on_demand(terminal):
    moment = output.format_time(MOMENT)
    assert output.plain(moment) == "2023-11-14 23:13:20 CET"
    assert output.dumps({"at": moment}, indent=False) == '{"at":"2023-11-14T22:13:20.123456Z"}'
    with click.Context(click.Command("x")) as context:
        context.meta[times.IN_UTC] = True
        assert output.plain(moment) == "2023-11-14 22:13:20 UTC"


def test_a_time_of_this_year_has_seconds_in_place_of_the_year(terminal):
    now = Clock().now()
    assert re.fullmatch(r"\d\d-\d\d \d\d:\d\d:\d\d", times.short(now))
    assert times.short(MOMENT) == "2023-11-14 23:13"


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Lima", "UTC"])
@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
def test_the_first_and_the_last_time_are_shown(monkeypatch, zone, text):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        day = text.lstrip("0").partition("T")[0]
        for shown in (times.short(clock.parse(text)), times.full(clock.parse(text))):
            assert shown.lstrip("0").startswith(day)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("journal", [False, True])
def test_a_record_is_one_line(journal):
    record = logging.LogRecord("tocsin.x", logging.WARNING, "", 0, "a\nb %s", ("c",), None)
    record.created = 1_700_000_000.5
    start = "<4>" if journal else "2023-11-14T22:13:20.500000Z "
    assert logs.LineFormatter(journal=journal).format(record) == f"{start}WARNING tocsin.x a\\nb c"


def test_the_journal_is_recognized_by_its_stream(monkeypatch):
    with tempfile.TemporaryFile("w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        assert not logs.is_journal()
        status = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        assert logs.is_journal()
