"""`tocsin listen --subscribe`: a hook that exists as long as the command runs."""

import signal

import httpx
import pytest
from bearer import bearer
from cli_process import Process, prepare, url_of
from installation import opened
from waiting import PATIENCE

from store.audit import audit_search
from store.hooks import hook_queries

ALLOWED = {"TOCSIN_ALLOW_NETWORKS": "127.0.0.0/8"}


def live_hooks(directory) -> list[str]:
    with opened(directory) as store:
        return [row["url"] for row in store.read_sync(hook_queries.every)]


def push(hub: str, token: str) -> None:
    headers = bearer(token)
    with httpx.Client(base_url=hub, headers=headers, trust_env=False, timeout=PATIENCE) as client:
        client.post("/ada/bell/events/push", json={"ref": "main"}).raise_for_status()


@pytest.fixture
def token(directory) -> str:
    with opened(directory) as store:
        return prepare(store)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_hook_is_made_verified_and_removed(start, directory, token, number):
    hub = url_of(start("serve", "--port", "0", **ALLOWED))
    receiver: Process = start("listen", "--subscribe", "ada/bell")
    callback = receiver.said(r"listening on (\S+),", error=True)[1]
    receiver.said("hook 1 of ada/bell delivers here", error=True)
    receiver.said("^ping .*✓ verified: sha256, sha1, standard  → 200")
    push(hub, token)
    receiver.said("^push .*✓ verified: sha256, sha1, standard  → 200")
    assert live_hooks(directory) == [callback]
    code, _, err = receiver.end(number)
    assert (code, err) == (0, "")
    assert live_hooks(directory) == []
    with opened(directory) as store:
        said = [row["action"] for row in store.read_sync(audit_search.page, limit=10)]
    assert said.count("tocsin listen") == 2


def test_a_missing_daemon_is_reported(start, directory, token):
    receiver = start("listen", "--subscribe", "ada/bell", "--event", "push", **ALLOWED)
    receiver.said("no worker runs: deliveries begin when `tocsin serve` runs", error=True)
    receiver.said("hook 1 of ada/bell", error=True)
    with opened(directory) as store:
        ((events, options),) = [
            (row["events"], row["options"]) for row in store.read_sync(hook_queries.every)
        ]
    assert (events, options) == (["push"], {})
    assert receiver.end()[0] == 0
    assert live_hooks(directory) == []


def test_an_existing_hook_is_left_alone(start, directory, token):
    first = start("listen", "--subscribe", "ada/bell", **ALLOWED)
    url = first.said(r"listening on (\S+),", error=True)[1]
    first.said("hook 1 of ada/bell", error=True)
    first.popen.kill()
    first.popen.wait(PATIENCE)
    port = str(httpx.URL(url).port)
    code, _, err = start("listen", "--subscribe", "ada/bell", "--port", port, **ALLOWED).ended()
    assert code == 5
    assert f"Error: ada/bell has hook 1 for {url} already: choose another --port" in err
    assert live_hooks(directory) == [url]


def test_a_url_that_the_guard_refuses_is_reported(start, directory, token):
    code, _, err = start("listen", "--subscribe", "ada/bell").ended()
    assert code == 2
    assert "127.0.0.1 is refused: loopback" in err
    assert "start `tocsin serve` with TOCSIN_ALLOW_NETWORKS=127.0.0.0/8" in err
    assert live_hooks(directory) == []


def test_an_unknown_repository_is_reported(start, token):
    code, _, err = start("listen", "--subscribe", "ada/none", **ALLOWED).ended()
    assert code == 4
    assert "ada/none" in err
