"""The commands of the tutorial, typed into terminals, have the expected output."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from manual import ADMIN, MANUAL, blocks
from ports import free_port
from terminal import Terminal
from waiting import PATIENCE

from tests.preload.client import write_command

PAGE = MANUAL / "tutorial.md"
BLOCKS = {one.name: one.text for one in blocks(PAGE, "sh")}


@pytest.fixture
def open_terminal(
    directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Terminal]]:
    programs = write_command(tmp_path_factory.mktemp("programs"))
    ports = {port: str(free_port()) for port in ("8765", "9000")}
    made: list[Terminal] = []

    def call() -> Terminal:
        made.append(Terminal(directory, ports, programs))
        return made[-1]

    yield call
    for terminal in made:
        terminal.close()


def sign_in(url: str, token: str) -> str:
    """Sign in to the dashboard with a token. Return the page of deliveries."""
    with httpx.Client(trust_env=False, follow_redirects=True, timeout=PATIENCE) as browser:
        door = browser.get(url).text
        (csrf,) = set(re.findall(r'name="csrf" value="(\w+)"', door))
        form = {"csrf": csrf, "token": token, "next": "/ui/deliveries"}
        return browser.post(f"{url}/sign-in", data=form).raise_for_status().text


def test_every_command_of_the_first_hour_works(open_terminal):
    typed = set()

    def text(name: str) -> str:
        typed.add(name)
        return BLOCKS[name]

    receiver, daemon, user, follower = (open_terminal() for _ in range(4))
    receiver.type(text("receiver"))
    receiver.until("listening on")
    daemon.type(text("daemon"))
    daemon.until("at work: http")
    user.run(text("user"))
    assert "delivery 2 is sent again as delivery 3" in user.run(text("again"))
    for _ in ("ping", "push", "push again"):
        receiver.until("✓ verified: sha256, sha1, standard")

    ((url, token),) = re.findall(r"(http\S+/ui), with the token (\w+)", user.run(text("dashboard")))
    page = sign_in(url, token)
    assert "ping" in page
    assert "push" in page

    assert re.search(r"/events, with the secret [0-9a-f]{64}", user.run(text("source")))
    assert '"deliveries": 1' in user.run(text("forge")).replace('":1', '": 1')
    receiver.until("push  72d3162e.*✓ verified")

    receiver.interrupt()
    broken = open_terminal()
    broken.type(text("broken"))
    broken.until("listening on")
    follower.type(text("follow"))
    follower.until("push.*200")

    def refused() -> None:
        # The time of the next attempt depends on the moment at which the line is printed.
        follower.until(r"push +503 .*again (in \d+ s|now|\d+ \w+ ago)")
        follower.until(r"push +503 .*dead")

    dead = user.run_around(text("refused"), "sleep 8", refused)
    assert re.search(r"push .* dead +503", dead)
    follower.interrupt()
    broken.interrupt()

    receiver = open_terminal()
    receiver.type(text("repaired"))
    receiver.until("listening on")
    replayed = user.run(text("replay"))
    assert re.search("^1 deliver.* on ", replayed, re.M)
    receiver.until("while it was broken")

    installed = user.run(text("systemd"))
    assert "staging/etc/systemd/system/tocsin.service" in installed
    assert re.search(r"hooks active +1", installed)
    assert typed | {ADMIN} == set(BLOCKS), "every block is typed"


def test_each_request_shows_why_it_failed(open_terminal):
    requests = [line for text in BLOCKS.values() for line in text.splitlines() if "curl" in line]
    assert len(requests) > 3
    assert all("curl --fail-with-body -sS " in line for line in requests)
    daemon, user = open_terminal(), open_terminal()
    daemon.type(BLOCKS["daemon"])
    daemon.until("at work: http")
    post = BLOCKS["user"].rpartition("\n\n")[2].strip()
    said = user.run(f"TOKEN=wrong\n{post} || echo code $?\n")
    assert "Bad credentials" in said
    assert "code 22" in said
