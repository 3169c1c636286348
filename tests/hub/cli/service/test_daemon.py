"""`tocsin serve` as a service manager sees it: readiness, sockets, watchdog messages, reloading."""

import contextlib
import errno
import json
import os
import re
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from installation import seed
from service_manager import Manager
from waiting import PATIENCE

from hub.cli.service import notify
from store import open_store
from store.audit import audit_search
from store.audit.audit_search import AuditFilter


def healthy(manager: Manager) -> bool:
    return httpx.get(f"{manager.url}/healthz", trust_env=False, timeout=PATIENCE).is_success


def test_the_daemon_is_ready_once_it_serves_on_the_given_socket(manager):
    manager.start()
    *before, ready = manager.until("^READY=1$")
    assert before[0] == "STATUS=opening the database"
    assert ready == f"READY=1\nSTATUS=listening on {manager.url}; 0 in flight, 0 queued"
    assert healthy(manager)
    manager.signal(signal.SIGTERM)
    assert manager.until("^STOPPING=1$")[-1].endswith("STATUS=finishing what is under way")
    code, said = manager.ended()
    assert code == 0, said


def test_a_request_between_two_daemons_is_answered_by_the_next(manager):
    manager.start()
    manager.until("^READY=1$")
    manager.signal(signal.SIGTERM)
    manager.ended()
    answers: list[bool] = []
    waiting = threading.Thread(target=lambda: answers.append(healthy(manager)))
    waiting.start()
    manager.start()
    manager.until("^READY=1$")
    waiting.join(PATIENCE)
    assert answers == [True]


def queue_of(listening: socket.socket) -> int:
    """Return how many connections may wait for a socket, as Linux has it in `tcp_info`."""
    info = listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32)
    return int.from_bytes(info[28:32], sys.byteorder)


def test_the_given_socket_keeps_its_queue(manager):
    with closing(socket.create_server(("127.0.0.1", 0), backlog=2**31 - 1)) as longest:
        wanted = queue_of(longest)
    manager.listening.listen(wanted)
    manager.start()
    manager.until("^READY=1$")
    assert queue_of(manager.listening) == wanted


def test_without_a_socket_it_listens_itself(manager):
    manager.start(activated=False)
    ready = manager.until("^READY=1$")[-1]
    assert manager.url not in ready
    found = re.search(r"listening on (\S+);", ready)
    assert found is not None
    manager.url = found[1]
    assert healthy(manager)


def test_a_worker_takes_no_socket(manager):
    manager.start("--only", "worker")
    assert manager.until("^READY=1$")[-1] == "READY=1\nSTATUS=0 in flight, 0 queued"


@pytest.mark.parametrize("part", [[], ["--only", "hub"], ["--only", "worker"]])
def test_signs_of_life(manager, part):
    manager.start(*part, WATCHDOG_USEC="400000")
    manager.until("^READY=1$")
    for _ in range(5):
        manager.until("^WATCHDOG=1$")
    manager.signal(signal.SIGTERM)
    assert manager.ended()[0] == 0


def test_no_signs_of_life_where_none_are_asked_for(manager):
    manager.start(WATCHDOG_USEC="400000", WATCHDOG_PID="1")
    manager.until("^READY=1$")
    # The reloads take some time, in which a watchdog message could be sent.
    for _ in range(3):
        manager.signal(signal.SIGHUP)
        manager.until("^READY=1$")
    manager.signal(signal.SIGTERM)
    manager.until("^STOPPING=1$")
    assert not any("WATCHDOG=1" in text for text in manager.heard)


def test_settings_are_read_again(manager, tmp_path):
    manager.start()
    manager.until("^READY=1$")
    request = {"trust_env": False, "headers": {"User-Agent": ""}, "timeout": PATIENCE}
    assert httpx.get(f"{manager.url}/versions", **request).status_code == 403
    (tmp_path / "tocsin.toml").write_text("port = 1\nrequire_user_agent = false\n")
    manager.signal(signal.SIGHUP)
    reported = manager.until("^READY=1$")
    (began,) = (text for text in reported if "RELOADING" in text)
    assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", began)
    assert reported[-1].endswith(f"listening on {manager.url}; 0 in flight, 0 queued")
    assert httpx.get(f"{manager.url}/versions", **request).is_success
    manager.signal(signal.SIGTERM)
    code, said = manager.ended()
    assert code == 0
    assert "WARNING tocsin.serve in force only after a restart: port\n" in said
    assert "INFO tocsin.serve settings read again; changed: require_user_agent\n" in said
    assert reloads(tmp_path) == [("done", {"fields": ["require_user_agent"]})]


def test_a_settings_file_that_is_gone_changes_nothing(manager, tmp_path):
    (tmp_path / "tocsin.toml").write_text("require_user_agent = false\n")
    manager.start()
    manager.until("^READY=1$")
    (tmp_path / "tocsin.toml").unlink()
    manager.signal(signal.SIGHUP)
    assert "stay as they were; listening on" in manager.until("^READY=1$")[-1]
    request = {"trust_env": False, "headers": {"User-Agent": ""}, "timeout": PATIENCE}
    assert httpx.get(f"{manager.url}/versions", **request).is_success
    manager.signal(signal.SIGTERM)
    code, said = manager.ended()
    assert code == 0
    assert (
        "ERROR tocsin.serve the settings stay as they were: cannot read the settings file" in said
    )


def test_a_variable_that_is_no_setting_is_named(manager, monkeypatch):
    monkeypatch.setenv("TOCSIN_PROT", "9999")
    manager.start()
    manager.logged("WARNING tocsin.serve TOCSIN_PROT is no setting")
    manager.until("^READY=1$")
    manager.signal(signal.SIGTERM)
    assert manager.ended()[0] == 0


def test_the_start_names_hooks_with_an_unusable_filter(manager, tmp_path):
    store = open_store("sqlite", data_dir=tmp_path)
    store.write_sync(seed)
    store.write_sync(lambda db: db.execute("UPDATE hook SET filter = '{\"ref\": 1}'"))
    store.shut()
    manager.start()
    reason = "hook 1 gets every event, because its filter is unusable: ref: "
    manager.logged(f"WARNING tocsin.serve {reason}")
    manager.signal(signal.SIGTERM)
    assert manager.ended()[0] == 0


def reloads(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the outcome and the details of each reload in the audit log, newest first."""
    store = open_store("sqlite", data_dir=folder)
    rows = store.read_sync(audit_search.page, AuditFilter(actions=["settings reload"]), limit=9)
    store.shut()
    assert all(row["via"] == "daemon" for row in rows)
    return [(row["outcome"], row["details"]) for row in rows]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("port =", "is not TOML"),
        ("require_user_agent = false\ntimeout = -1", "timeout: Input should be greater than 0"),
        ("require_user_agent = false\nallow_networks = ['x']", "'x' does not appear to be"),
        ("require_user_agent = false\ncallback_ports = 'x'", "callback_ports: 'x' is not a port"),
        (
            "require_user_agent = false\nmail_host = 'localhost'\nmail_from = 't@forge.example'",
            "mail_host needs the extra mail",
        ),
    ],
)
def test_reloading_wrong_settings_changes_nothing(manager, tmp_path, text, reason):
    # Make it look as if the extra `mail` were not installed. The path needs a slow, full start.
    (tmp_path / "aiosmtplib.py").write_text("raise ImportError")
    manager.start(**({"PYTHONPATH": str(tmp_path)} if "mail" in text else {}))
    manager.until("^READY=1$")
    (tmp_path / "tocsin.toml").write_text(text)
    manager.signal(signal.SIGHUP)
    assert "stay as they were; listening on" in manager.until("^READY=1$")[-1]
    request = {"trust_env": False, "headers": {"User-Agent": ""}, "timeout": PATIENCE}
    answer = httpx.get(f"{manager.url}/versions", **request)
    assert answer.status_code == 403
    (tmp_path / "tocsin.toml").write_text("")
    manager.signal(signal.SIGHUP)
    assert "stay as they were" not in manager.until("^READY=1$")[-1]
    manager.signal(signal.SIGTERM)
    code, said = manager.ended()
    assert code == 0
    assert re.search(rf"ERROR tocsin.serve the settings stay as they were: .*{reason}", said), said
    assert reloads(tmp_path) == [("done", {}), ("failed", {})]


class Connection:
    """A keep-alive connection, without an HTTP library."""

    REQUEST = b"GET /healthz HTTP/1.1\r\nHost: x\r\nUser-Agent: x\r\n\r\n"

    def __init__(self, manager: Manager) -> None:
        self.socket = socket.create_connection(manager.listening.getsockname(), timeout=PATIENCE)

    def ask(self) -> bytes:
        """Send a request. Return the response in lower case."""
        self.socket.sendall(self.REQUEST)
        return self.answer()

    def answer(self) -> bytes:
        answer = b""
        while not answer.endswith(b'"ok"}'):
            received = self.socket.recv(4096)
            assert received, answer
            answer += received
        return answer.lower()

    def close(self) -> None:
        self.socket.close()


def test_a_connection_that_rests_is_closed_at_the_end(manager):
    manager.start()
    manager.until("^READY=1$")
    with closing(Connection(manager)) as silent:
        assert b"connection: close" not in silent.ask()
        manager.signal(signal.SIGTERM)
        manager.until("^STOPPING=1$")
        assert silent.socket.recv(1) == b""
        assert manager.ended()[0] == 0


def test_limits_of_requests_are_read_again(manager, tmp_path):
    manager.start()
    manager.until("^READY=1$")
    request: dict[str, Any] = {"trust_env": False, "timeout": PATIENCE}
    request["headers"] = {"User-Agent": "x", "X-Long": "a" * 5000}
    assert httpx.get(f"{manager.url}/versions", **request).is_success
    (tmp_path / "tocsin.toml").write_text("max_header_bytes = 4096\n")
    manager.signal(signal.SIGHUP)
    manager.until("^READY=1$")
    answer = httpx.get(f"{manager.url}/versions", **request)
    assert answer.status_code == 431
    assert answer.json() == {
        "message": "The headers are larger than the limit of 4096 bytes.",
        "documentation_url": f"{manager.url}/docs/reference/errors#headers-too-large",
        "status": "431",
    }


def test_more_connections_than_there_may_be_files(manager):
    """Silent connections do not keep other clients from getting a response."""
    manager.start()
    manager.until("^READY=1$")
    assert manager.process is not None
    resource.prlimit(manager.process.pid, resource.RLIMIT_NOFILE, (256, 256))
    manager.signal(signal.SIGHUP)
    manager.until("^READY=1$")
    with contextlib.ExitStack() as stack:
        for _ in range(400):
            silent = socket.create_connection(manager.listening.getsockname(), timeout=PATIENCE)
            stack.enter_context(silent)
        assert healthy(manager)
    manager.signal(signal.SIGTERM)
    code, said = manager.ended()
    assert code == 0
    assert "there are 64 connections, and max_connections allows no more" in said
    assert "Too many open files" not in said


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Return a function that receives the next message of a notifier in this process."""
    name = f"\0tocsin-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(name)
        receiver.settimeout(PATIENCE)
        monkeypatch.setenv("NOTIFY_SOCKET", "@" + name[1:])
        yield lambda: receiver.recv(4096).decode()


def test_a_status_is_sent_once_and_on_one_line(reported):
    notifier = notify.Notifier()
    notifier.status("one\nREADY=1")
    notifier.status("one\nREADY=1")
    notifier.status("two")
    assert [reported(), reported()] == ["STATUS=one READY=1", "STATUS=two"]


def test_the_state_reaches_a_service_manager_that_was_busy(reported):
    """Signs of life may be lost, but the state must not be."""
    notifier = notify.Notifier()
    address = "\0" + os.environ["NOTIFY_SOCKET"][1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other, suppress(BlockingIOError):
        other.setblocking(False)
        while True:
            other.sendto(b"WATCHDOG=1", address)
    notifier.ready("at work")
    notifier.stopping("soon")
    notifier.alive()
    said = [reported()]
    notifier.retry()
    while not said[-1].startswith("STOPPING"):
        notifier.retry()
        said.append(reported())
    notifier.retry()
    state = [one for one in said if one != "WATCHDOG=1"]
    assert state == ["READY=1\nSTATUS=at work", "STOPPING=1\nSTATUS=soon"]


def test_the_state_is_sent_once_there_are_descriptors_again(reported, monkeypatch):
    notifier = notify.Notifier()

    def refuse(*_: object) -> socket.socket:
        raise OSError(errno.EMFILE, "too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(notify.socket, "socket", refuse)
        notifier.alive()
        notifier.ready("at first")
        for _ in range(9):
            notifier.reloading()
            notifier.ready("at work")
    notifier.retry()
    said = [reported().partition("\n")[0] for _ in range(notify.KEPT - 1)]
    assert said == ["READY=1", "RELOADING=1"]
    assert reported() == "READY=1\nSTATUS=at work"


def test_a_missing_service_manager_is_no_error(monkeypatch, tmp_path):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify.Notifier().ready("x")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    notify.Notifier().ready("x")


@pytest.mark.parametrize(
    ("process", "count"),
    [(None, "1"), ("1", "1"), (str(os.getpid()), "x"), ("x", "")],
    ids=["nobody's", "another's", "no number", "no process"],
)
def test_sockets_of_another_process_are_ignored(monkeypatch, process, count):
    monkeypatch.setenv("LISTEN_FDS", count)
    if process is not None:
        monkeypatch.setenv("LISTEN_PID", process)
    assert notify.inherited_sockets() == []
    assert "LISTEN_FDS" not in os.environ


@pytest.mark.parametrize(("given", "seconds"), [("3000000", 3), ("0", None), ("x", None)])
def test_the_watchdogs_patience(monkeypatch, given, seconds):
    monkeypatch.delenv("WATCHDOG_PID", raising=False)
    monkeypatch.setenv("WATCHDOG_USEC", given)
    assert notify.watchdog_seconds() == seconds


def test_commands_judge_by_the_settings_of_the_running_daemon(manager, run, listed):
    manager.start(TOCSIN_ALLOW_NETWORKS="127.0.0.0/8")
    manager.until("READY=1")
    run("user", "add", "ada")
    run("repo", "add", "ada/bell")
    found = {one["setting"]: one for one in listed("settings")}
    assert found["allow_networks"]["value"] == ["127.0.0.0/8"]
    assert found["allow_networks"]["from"] == "the running daemon"
    said = json.loads(run("doctor", "--json", code=1).stdout)["findings"]
    (reported,) = [one["said"] for one in said if "allow_networks" in one["said"]]
    assert 'allow_networks = ["127.0.0.0/8"], and this shell has []' in reported
    manager.process.kill()
    manager.process.wait()
    left = list(manager.folder.glob("daemon-*.json"))
    assert left, "a killed daemon leaves its record behind"
    found = {one["setting"]: one for one in listed("settings")}
    assert found["allow_networks"]["value"] == []
