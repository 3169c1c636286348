"""Long-running commands, tested with real processes, sockets and signals."""

import json
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import httpx
from cli_process import SECRET, prepare, subscribe_and_push, url_of
from pty_process import INTERRUPT, PtyProcess
from waiting import PATIENCE

from store import Store

# A daemon with a thread that never ends, as a look-up of a name may not before the system gives up.
HANGS = """
import asyncio, threading
from hub.cli import main
from hub.cli.install import serve

announce = serve._announce

def hang(daemon):
    asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)
    announce(daemon)

serve._announce = hang
main(["serve", "--port", "0"], prog_name="tocsin")
"""


def test_serve_answers_and_ends_on_a_signal(start, directory):
    daemon = start("serve", "--port", "0")
    url = url_of(daemon)
    answer = httpx.get(f"{url}/healthz", trust_env=False, timeout=PATIENCE)
    assert answer.status_code == 200
    assert answer.headers.get_list("server") == ["tocsin"]
    code, _, err = daemon.end()
    assert code == 0, err
    assert "ending" in err
    assert (directory / "tocsin.db").exists()


def test_on_a_terminal_a_start_names_the_dashboard(directory):
    command = [sys.executable, "-m", "hub.cli", "serve", "--port", "0"]
    with closing(PtyProcess(command)) as daemon:
        url = daemon.until(r"^tocsin is at work: (http://\S+)$")[1]
        address = daemon.until("^dashboard: (http.+)$")[1]
        assert address == f"{url}/ui"
        assert httpx.get(address, trust_env=False, timeout=PATIENCE).status_code == 303
        daemon.type(INTERRUPT)
        assert daemon.ended() == 0, daemon.seen


def test_the_daemon_works_if_its_output_cannot_be_written(directory):
    """The log of a service that has no journal may be on a full disk."""
    command = [sys.executable, "-m", "hub.cli", "serve", "--port", "0"]
    with (
        Path("/dev/full").open("w", encoding="utf-8") as full,
        subprocess.Popen(command, stdout=full, stderr=subprocess.PIPE, text=True) as daemon,
    ):
        assert any("standard output cannot be written" in line for line in daemon.stderr)
        assert daemon.poll() is None
        daemon.terminate()
        assert "ending" in daemon.communicate(timeout=PATIENCE)[1]
    assert daemon.returncode == 0


def test_a_thread_that_hangs_does_not_delay_the_end(directory):
    command = [sys.executable, "-c", HANGS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as daemon:
        try:
            assert "at work" in daemon.stdout.readline()
            daemon.terminate()
            assert daemon.wait(PATIENCE) == 0
        finally:
            daemon.kill()


def test_hub_and_worker_run_as_two_processes(start, store: Store):
    token = prepare(store)
    receiver = start("listen", "--port", "0", "--secret", SECRET, "--json")
    callback = receiver.said(r"(http://127\.0\.0\.1:\d+/)", error=True)[1]
    allowed = {"TOCSIN_ALLOW_NETWORKS": "127.0.0.0/8"}
    worker = start("serve", "--only", "worker", **allowed)
    worker.said("at work: worker")
    hub = start("serve", "--only", "hub", "--port", "0", **allowed)
    subscribe_and_push(url_of(hub), callback, token)
    found = [json.loads(receiver.said(r"^{.*}$")[0]) for _ in range(2)]
    assert {each["event"] for each in found} == {"ping", "push"}
    assert all(each["verified"] for each in found)
    assert all(each["content_type"] == "application/x-www-form-urlencoded" for each in found)
    pushed = next(each for each in found if each["event"] == "push")
    assert json.loads(pushed["payload"]) == {"ref": "refs/heads/main"}
    assert [process.end()[0] for process in (hub, worker, receiver)] == [0, 0, 0]


def test_a_second_worker_is_refused(start):
    start("serve", "--only", "worker").said("at work")
    code, _, err = start("serve", "--only", "worker").ended()
    assert code == 5
    assert "another worker is running" in err.splitlines()[-1]


def test_a_taken_port_is_reported(start):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = start("serve", "--port", str(port)).ended()
    assert code == 5
    assert out == ""
    assert f"Error: cannot listen on 127.0.0.1 port {port}: Address already in use" in err


def test_a_second_signal_ends_at_once(start):
    daemon = start("serve", "--port", "0")
    url = httpx.URL(url_of(daemon))
    with socket.create_connection((url.host, url.port)) as slow:
        head = b"POST /events HTTP/1.1\r\nHost: x\r\nX-GitHub-Event: push\r\n"
        slow.sendall(head + b"Content-Length: 9\r\n\r\n{")
        beside = httpx.get(url.join("/healthz"), trust_env=False, timeout=PATIENCE)
        assert beside.status_code == 200
        daemon.popen.send_signal(signal.SIGTERM)
        daemon.said("ending; a second signal", error=True)
        assert daemon.end()[0] == 128 + signal.SIGTERM
