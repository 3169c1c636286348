"""The commands of each page of the manual work, in their order, beside a hub and a receiver."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from cli_process import SECRET, Process
from engines import open_prepared, prepare_database
from isolating import isolate
from manual import README, block, blocks, manual_pages, named
from ports import free_port
from terminal import Terminal
from waiting import PATIENCE, wait_until

from store import Connection, Store
from store.accounts import accounts, tokens
from store.delivery import delivery_queries
from store.repositories import repositories
from tests.preload.client import write_command

HUB, RECEIVER = "8765", "9000"
REPOSITORY = "ada/bell-tower"


class Workshop:
    """A hub that runs on a data directory, beside a receiver."""

    def __init__(self, directory: Path, receiver: str) -> None:
        self.directory = directory
        self.ports = {HUB: str(free_port()), RECEIVER: receiver}
        self.hub = f"http://127.0.0.1:{self.ports[HUB]}"
        self.receiver = f"http://127.0.0.1:{self.ports[RECEIVER]}/"

    def fill_store(self) -> str:
        """Create a repository with a hook, and wait until a ping and a push are delivered. Return a
        token for the repository.
        """
        with self._opened() as store:
            token = store.write_sync(_people)
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(
            base_url=self.hub, headers=headers, trust_env=False, timeout=PATIENCE
        ) as client:
            subscription = {
                "hub.mode": "subscribe",
                "hub.topic": f"{self.hub}/{REPOSITORY}/events/push.json",
                "hub.callback": self.receiver,
                "hub.secret": SECRET,
            }
            client.post("/hub", data=subscription).raise_for_status()
            client.post(f"/{REPOSITORY}/events/push", json={"ref": "main"}).raise_for_status()
        wait_until(lambda: self.states() == ["delivered", "delivered"])
        return token

    def states(self) -> list[str]:
        """The states of all deliveries."""
        with self._opened() as store:
            return [row["state"] for row in store.read_sync(delivery_queries.page, limit=50)]

    def _opened(self) -> "_Opened":
        return _Opened(self.directory)


class _Opened:
    """A context manager that opens the daemon's store for the length of a block."""

    def __init__(self, directory: Path) -> None:
        self._store = open_prepared("sqlite", directory)

    def __enter__(self) -> Store:
        return self._store

    def __exit__(self, *_: object) -> None:
        self._store.shut()


def _people(db: Connection) -> str:
    user = accounts.create(db, "ada")
    owner, _, name = REPOSITORY.partition("/")
    assert owner == user["login"]
    repositories.create(db, user["id"], name)
    return tokens.create(db, user["id"], scopes=["repo", "admin:repo_hook"])[0]


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The port of a receiver. All pages share it, because its start takes longer than the commands
    of many pages.
    """
    port = str(free_port())
    with pytest.MonkeyPatch.context() as patch:
        isolate(tmp_path_factory.mktemp("receiver"), patch)
        listening = Process("listen", "--port", port, "--secret", SECRET)
    listening.said("listening on", error=True)
    # If the test did not read its output, the receiver would block when the pipe is full.
    reader = threading.Thread(target=listening.popen.communicate)
    reader.start()
    yield port
    listening.popen.terminate()
    reader.join()


@pytest.fixture
def workshop(directory: Path, receiver: str) -> Iterator[Workshop]:
    made = Workshop(directory, receiver)
    prepare_database("sqlite", directory)
    serving = Process("serve", "--port", made.ports[HUB], TOCSIN_ALLOW_NETWORKS="127.0.0.0/8")
    try:
        serving.said("at work: http")
        yield made
    finally:
        serving.end()


@pytest.fixture
def type_in(
    workshop: Workshop, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., str]]:
    """A function that types blocks into one shell, and returns the output of the last block."""
    shells: list[Terminal] = []
    programs = write_command(tmp_path_factory.mktemp("programs"))

    def call(texts: list[str], **environment: str) -> str:
        shell = Terminal(workshop.directory, workshop.ports, programs, **environment)
        shells.append(shell)
        return [shell.run(text) for text in texts][-1]

    yield call
    for shell in shells:
        shell.close()


def commands(page: Path) -> list[str]:
    """The shell blocks of a page that have no name, which are the ones that this module runs."""
    return [one.text for one in blocks(page, "sh") if not one.name]


PAGES = [page for page in manual_pages() if commands(page)]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_commands_of_a_page_work(page: Path, workshop: Workshop, type_in) -> None:
    type_in(commands(page), TOKEN=workshop.fill_store())


def test_the_example_of_the_readme_works(workshop: Workshop, type_in) -> None:
    type_in([block(README, "sh", "example")])
    wait_until(lambda: workshop.states() == ["delivered", "delivered"])
