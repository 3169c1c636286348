"""Log lines for people, as JSON and for the journal, which never have a credential."""

import fcntl
import json
import logging
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from bearer import bearer
from ports import free_port
from waiting import PATIENCE, wait_until

from hub.cli.service import log_stream, logs
from store import Connection, Store
from store.accounts import accounts, apps, tokens
from store.database.log_context import LOG_CONTEXT
from store.delivery import sources
from store.hooks import hooks
from store.repositories import repositories

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
HUSH = "hush-hush-hush"


@pytest.fixture
def about() -> Iterator[None]:
    token = LOG_CONTEXT.set({"request_id": "r-1", "delivery_id": 7})
    yield
    LOG_CONTEXT.reset(token)


def record(message: str = "it is %s", *args: object, **given: Any) -> logging.LogRecord:
    made = logging.LogRecord(
        "tocsin.hub", given.pop("level", logging.WARNING), "x.py", 1, message, args, None
    )
    vars(made).update(given)
    return made


def failed(message: str = "it failed") -> logging.LogRecord:
    try:
        raise ValueError(message)
    except ValueError:
        made = record("request failed")
        made.exc_info = sys.exc_info()
        return made


def human(made: logging.LogRecord, *, journal: bool = False) -> str:
    return logs.LineFormatter(journal=journal).format(made)


@pytest.fixture
def stalled(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[logging.Handler, int]]:
    """A handler for a pipe with room for one page, and the end that has not been read."""
    monkeypatch.setattr(log_stream, "PATIENCE", 0)
    end, begin = os.pipe()
    size = fcntl.fcntl(begin, fcntl.F_SETPIPE_SZ, 2 * select.PIPE_BUF)
    os.write(begin, b"x" * (size - select.PIPE_BUF))
    with os.fdopen(begin, "w", encoding="utf-8") as stream:
        yield log_stream.LogHandler(stream), end
    os.close(end)


def parsed(made: logging.LogRecord) -> dict[str, Any]:
    line = logs.JsonFormatter(journal=False).format(made)
    assert "\n" not in line
    assert line.isascii()
    found: dict[str, Any] = json.loads(line)
    return found


class TestForPeople:
    def test_a_record_is_one_line(self) -> None:
        line = human(record("it is %s", "so"))
        assert re.fullmatch(rf"{TIME} WARNING tocsin\.hub it is so", line), line

    @pytest.mark.usefixtures("about")
    def test_a_line_ends_with_its_ids(self) -> None:
        made = record("it is so", about={"hook_id": 3})
        assert human(made).endswith("it is so [request_id=r-1 delivery_id=7 hook_id=3]")

    def test_a_traceback_stays_on_the_line(self) -> None:
        line = human(failed())
        assert "\n" not in line
        assert line.endswith("ValueError: it failed")
        assert "\\nTraceback (most recent call last):\\n" in line

    @pytest.mark.parametrize(
        ("level", "number"),
        [("DEBUG", 7), ("INFO", 6), ("WARNING", 4), ("ERROR", 3), ("CRITICAL", 2)],
    )
    def test_the_journals_severity(self, level: str, number: int) -> None:
        made = record("x", level=getattr(logging, level))
        assert human(made, journal=True) == f"<{number}>{level} tocsin.hub x"
        line = logs.JsonFormatter(journal=True).format(made)
        assert line.startswith(f'<{number}>{{"ts": ')
        assert json.loads(line[3:])["level"] == level.lower()


class TestAsObjects:
    @pytest.mark.usefixtures("about")
    def test_members_of_a_json_record(self) -> None:
        found = parsed(record("it is %s", "so", about={"hook_id": 3, "path": "/a\u2028b"}))
        assert re.fullmatch(TIME, found.pop("ts"))
        assert found == {
            "level": "warning", "logger": "tocsin.hub", "message": "it is so",
            "request_id": "r-1", "delivery_id": 7, "hook_id": 3, "path": "/a\u2028b",
        }  # fmt: skip

    def test_ids_do_not_replace_the_fields_of_a_line(self) -> None:
        found = parsed(record("it is so", about={"level": "debug", "ts": 0, "message": "x"}))
        assert (found["level"], found["message"]) == ("warning", "it is so")

    def test_an_exception_is_a_field(self) -> None:
        found = parsed(failed())
        assert found["message"] == "request failed"
        assert found["exception"].endswith("ValueError: it failed")


INJECTIONS = [
    "a\n<0>EMERGENCY tocsin forged", "a\r\nforged", "a\x1b[2J\x1b[31mred", "a\x00b\x7f\x9b31m",
    "a\u2028b\u2029c", "a\u202eb\u2066c", "a\x85b", "a\tb", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("text", INJECTIONS)
def test_nothing_from_outside_begins_a_line_or_moves_a_cursor(text: str) -> None:
    made = record("path %s", text, about={"path": text})
    line = human(made, journal=True)
    assert line.startswith("<4>WARNING tocsin.hub path ")
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", line), line
    found = parsed(made)
    assert found["path"] == text
    assert found["message"] == f"path {text}"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {HUSH}", f"Basic {HUSH}", f"https://u:{HUSH}@x.example/",
        f"postgresql://tocsin:{HUSH}@db/tocsin", f"amqp://u:a:{HUSH}@x.example/",
        f"GET https://x.example/a?token={HUSH}&b=1 failed",
        f"secret whsec_{HUSH.replace('-', '')}", f"key whsk_{HUSH.replace('-', '')}=",
        "tsp_" + "A" * 36, "xx tso_" + "0" * 36 + ".",
    ],
)  # fmt: skip
def test_credentials_are_removed_from_log_lines(text: str) -> None:
    """If a message has a text that looks like a credential, the log line has `***` instead."""
    for made in (record("%s", text), record("x", about={"url": text}), failed(text)):
        for line in (human(made), logs.JsonFormatter(journal=False).format(made)):
            assert not re.search(r"hush|A{36}|0{36}", line), line
            assert "***" in line


@pytest.mark.parametrize("kind", tokens.KINDS)
def test_tokens_of_every_kind_are_removed_from_log_lines(kind: str) -> None:
    value = tokens.new_value(kind)
    line = human(record("%s", f"the token {value} is refused"))
    assert value[4:] not in line
    assert f"the token {value[:4]}*** is refused" in line


def test_lines_that_are_not_read_are_left_out(stalled: tuple[logging.Handler, int]) -> None:
    handler, end = stalled
    for text in ("é" * 3000, "lost", "lost, too"):
        handler.emit(record(text))
    read = os.read(end, 1_000_000).lstrip(b"x").decode()
    assert set(read) == {"é"}
    handler.emit(record("read again"))
    empty, said, line, last = os.read(end, 1_000_000).decode().split("\n")
    assert (empty, line, last) == ("", "read again", "")
    assert said == "3 records are missing here: standard error was not read in time"


def test_a_character_that_is_written_as_several_needs_no_more_room(
    stalled: tuple[logging.Handler, int],
) -> None:
    """A name of a file may have bytes that are not UTF-8."""
    handler, end = stalled
    handler.stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]
    handler.emit(record("\udcff" * 1000))
    assert os.read(end, 1_000_000).lstrip(b"x") == (rb"\udcff" * 1000)[: select.PIPE_BUF]


def test_a_line_of_a_page_is_written_at_once() -> None:
    """Other processes may write to the same pipe, and would tear it."""
    end, begin = os.pipe2(os.O_DIRECT)
    line = "x" * (select.PIPE_BUF - 1)
    with os.fdopen(begin, "w", encoding="utf-8") as stream:
        log_stream.LogHandler(stream).emit(record(line))
        assert os.read(end, 1_000_000).decode() == f"{line}\n"
    os.close(end)


def test_a_terminal_that_is_not_read_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_stream, "PATIENCE", 0)
    end, begin = pty.openpty()
    with os.fdopen(begin, "w", encoding="utf-8") as stream:
        handler = log_stream.LogHandler(stream)
        for _ in range(1_000):
            handler.emit(record("x" * 1_000))
        assert os.read(end, 100) == b"x" * 100
    os.close(end)


def test_a_slow_reader_is_not_waited_for_at_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = [0.0]

    class SlowReader:
        def register(self, *_: int) -> None: ...

        def poll(self, most: int) -> list[int]:
            waited[0] += min(most / 1000, 0.4)
            return [1] if most >= 400 else []

    monkeypatch.setattr(select, "poll", SlowReader)
    monkeypatch.setattr(time, "monotonic", lambda: waited[0])
    with open(os.devnull, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a device
        handler = log_stream.LogHandler(stream)
        for _ in range(100):
            handler.emit(record("a line"))
    assert waited[0] < 2


@pytest.mark.parametrize("text", ["x" * 200_000, "\U0001f514" * 100_000, "\x1b" * 100_000])
def test_lines_have_a_bound(text: str) -> None:
    """The journal would divide a longer line, and treat the rest as another line."""
    made = failed(text)
    made.msg = f"begin {text} end"
    made.about = {"path": text, "event": text}
    for form in (logs.LineFormatter(journal=True), logs.JsonFormatter(journal=True)):
        line = form.format(made)
        assert len(line.encode()) < 48 * 1024
        assert "begin" in line
    assert json.loads(line[3:])["logger"] == "tocsin.hub"


class TestWhichForm:
    """`auto` means lines for people at a terminal and in the journal, and JSON elsewhere."""

    CODE = "import logging, sys; from hub.cli.service import logs;" \
        "logs.set_up('info', sys.argv[1]); logging.getLogger('x').warning('it is so');" \
        "logging.getLogger('uvicorn.error')" \
        ".warning('so too'); logging.getLogger('uvicorn.error').info('not this')"  # fmt: skip

    def run(self, form: str, stderr: int, **environment: str) -> None:
        given = {name: value for name, value in os.environ.items() if name != "JOURNAL_STREAM"}
        subprocess.run(
            [sys.executable, "-c", self.CODE, form],
            stderr=stderr,
            env=given | environment,
            check=True,
            timeout=PATIENCE,
        )

    def written(self, form: str, path: Path, *, journal: bool = False) -> list[str]:
        with path.open("wb") as file:
            status = os.fstat(file.fileno())
            stream = f"{status.st_dev}:{status.st_ino}"
            self.run(form, file.fileno(), **({"JOURNAL_STREAM": stream} if journal else {}))
        lines = path.read_text().splitlines()
        assert len(lines) == 2
        return lines

    def test_a_log_file_gets_json_by_default(self, tmp_path: Path) -> None:
        for form in ("auto", "json"):
            found = [json.loads(line) for line in self.written(form, tmp_path / form)]
            assert [one["logger"] for one in found] == ["x", "uvicorn.error"]
        assert re.fullmatch(f"{TIME} WARNING x it is so", self.written("human", tmp_path / "h")[0])

    def test_the_journal_gets_lines_with_a_severity(self, tmp_path: Path) -> None:
        for form in ("auto", "human"):
            lines = self.written(form, tmp_path / form, journal=True)
            assert lines == ["<4>WARNING x it is so", "<4>WARNING uvicorn.error so too"]
        line, _ = self.written("json", tmp_path / "json", journal=True)
        assert line.startswith('<4>{"ts"')

    def test_a_stream_beside_the_journal_gets_plain_lines(self, tmp_path: Path) -> None:
        """A child process of a service inherits JOURNAL_STREAM, but may write to another stream."""
        path = tmp_path / "other"
        with path.open("wb") as file:
            self.run("human", file.fileno(), JOURNAL_STREAM="1:2")
        assert re.match(TIME, path.read_text())

    def test_a_terminal_gets_plain_lines(self) -> None:
        ours, theirs = pty.openpty()
        self.run("auto", theirs)
        seen = os.read(ours, 4096)
        os.close(theirs)
        os.close(ours)
        assert re.match(f"{TIME} WARNING x it is so\r\n".encode(), seen)


SECRETS = {
    "hook": f"{HUSH}-hook", "source": f"{HUSH}-source", "password": f"{HUSH}-password",
    "admin": f"{HUSH}-admin-token", "query": f"{HUSH}-query", "payload": f"{HUSH}-payload",
    "wrong": f"{HUSH}-wrong", "user": f"{HUSH}-user", "header": f"{HUSH}-header",
}  # fmt: skip


def people(db: Connection) -> str:
    ada = accounts.create(db, "ada", password=SECRETS["password"])
    repo = repositories.create(db, ada["id"], "engine")
    sources.create(db, "forge", SECRETS["source"])
    apps.create(db, ada["id"], "Lab", url="https://lab.example/", client_secret=HUSH * 2)
    # No server listens on this port: each attempt fails, and the log reports the last one.
    url = f"http://127.0.0.1:{free_port()}/hook?token={SECRETS['query']}"
    options = {"retries": [0], "breaker": 1}
    hooks.create(db, repo["id"], url=url, events=["push"], secret=SECRETS["hook"], options=options)
    return tokens.create(db, ada["id"], scopes=["repo", "admin:repo_hook"])[0]


class Serving:
    """A daemon that logs at the level `debug`, and a client that sends it requests."""

    def __init__(self, folder: Path, token: str, form: str) -> None:
        self.folder = folder
        self.token = token
        self.form = form

    def __enter__(self) -> "Serving":
        given = {
            "TOCSIN_DATA_DIR": str(self.folder), "TOCSIN_PORT": "0", "TOCSIN_LOG_LEVEL": "debug",
            "TOCSIN_LOG_FORMAT": self.form, "TOCSIN_ACCESS_LOG": "true",
            "TOCSIN_ADMIN_TOKEN": SECRETS["admin"], "TOCSIN_ALLOW_NETWORKS": "127.0.0.0/8",
        }  # fmt: skip
        self.errors = (self.folder / "stderr").open("w+b")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hub.cli", "serve"],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=os.environ | given,
            text=True,
        )
        assert self.process.stdout is not None
        url = self.process.stdout.readline().split()[-1]
        self.client = httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE)
        return self

    def ask(self, line: str, status: int, token: str | None = None, **given: Any) -> None:
        method, _, path = line.partition(" ")
        headers = bearer(token or self.token) | given.pop("headers", {})
        answer = self.client.request(method, path, headers=headers, **given)
        assert answer.status_code == status, answer.text

    def said(self) -> str:
        return Path(self.errors.name).read_text()

    def __exit__(self, *exc: object) -> None:
        self.client.close()
        self.process.terminate()
        try:
            assert self.process.wait(PATIENCE) == 0
        finally:
            self.process.kill()
            self.process.communicate()
            self.errors.close()


def everything(serving: Serving) -> None:
    """Send requests of many kinds, with secrets in each place where a client can put them."""
    ask, query = serving.ask, SECRETS["query"]
    ask("POST /ada/engine/events/push", 202, json={"secret": SECRETS["payload"]})
    ask(f"GET /repos/ada/engine/hooks?access_token={query}", 200)
    ask(f"GET /nothing?{query}", 404)
    ask("GET /versions", 401, token=SECRETS["wrong"])
    ask("GET /versions", 401, token=tokens.new_value("personal"))
    ask("GET /metrics", 200, token=SECRETS["admin"])
    # `/readyz` also writes to the store. If the disk is slow, it may fail at first.
    wait_until(lambda: serving.client.get("/readyz").is_success)
    ask(f"GET /readyz?verbose&token={query}", 200, token=SECRETS["admin"])
    ask("POST /ada/engine/events/push", 400, content=b"{" + SECRETS["payload"].encode())
    odd = {"X-Odd": SECRETS["header"], "Cookie": SECRETS["header"]}
    ask("POST /ada/engine/events/x%0a%1b[31m", 422, json={}, headers=odd)
    config = {"url": f"http://{SECRETS['user']}:{HUSH}@127.0.0.1/", "secret": SECRETS["hook"]}
    ask("POST /repos/ada/engine/hooks", 422, json={"config": config})
    for password, status in ((SECRETS["wrong"], 401), (SECRETS["password"], 200)):
        answer = serving.client.get("/applications/grants", auth=("ada", password))
        assert answer.status_code == status
    signed = {"X-Hub-Signature-256": f"sha256={'0' * 64}", "X-GitHub-Event": "push"}
    answer = serving.client.post("/events", content=SECRETS["payload"].encode(), headers=signed)
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("url", "form"), [("sqlite", "human"), ("postgres", "json")], indirect=["url"]
)
def test_no_secret_is_logged(directory: Path, store: Store, form: str) -> None:
    token = store.write_sync(people)
    with Serving(directory, token, form) as serving:
        everything(serving)
        wait_until(lambda: "deliveries are dead" in serving.said())
        said = serving.said()
    said = Path(directory / "stderr").read_text()
    for secret in (*SECRETS.values(), HUSH, token, token[4:20]):
        assert secret not in said, secret
    assert "POST /ada/engine/events/push: 202 in " in said
    assert "/ada/engine/events/x%0a%1b[31m" in said
    assert "hook 1 rests for" in said
    assert "1 deliveries are dead; the last ended with attempt 1: connect" in said
    if form == "json":
        check_objects([json.loads(line) for line in said.splitlines()])


def check_objects(lines: list[dict[str, Any]]) -> None:
    requests = [line for line in lines if line["logger"] == "tocsin.access"]
    assert len({line["request_id"] for line in requests}) == len(requests)
    first = requests[0]
    assert (first["method"], first["path"]) == ("POST", "/ada/engine/events/push")
    assert (first["status"], first["address"]) == (202, "127.0.0.1")
    (pause,) = (line for line in lines if "rests for" in line["message"])
    assert (pause["hook_id"], pause["delivery_id"]) == (1, 1)
