"""A PostgreSQL URL with several hosts, the first of which is gone."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from postgres_databases import database
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from transactions import transaction
from waiting import PATIENCE

from store import open_store
from store.database.postgres import engine, hosts, pool
from store.errors import Unavailable

CONNECT = psycopg.Connection.connect


def hold(monkeypatch: pytest.MonkeyPatch, wait: Callable[[], object]) -> None:
    """Let each connection of a pool wait, as if its first host did not answer."""

    def connect(*given: Any, **more: Any) -> Any:
        wait()
        return CONNECT(*given, **more)

    monkeypatch.setattr(psycopg.Connection, "connect", connect)


def test_the_first_connection_may_take_longer_than_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "PATIENCE", 0.01)
    with database() as named:
        hold(monkeypatch, lambda: time.sleep(0.2))
        store = open_store(named, data_dir=tmp_path)
        assert store.read_sync(lambda db: db.value("SELECT 1")) == 1
        store.shut()


def test_a_connection_that_is_too_slow_is_not_taken_for_one_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The resolver may hang, too."""
    go = threading.Event()
    monkeypatch.setattr(pool, "PATIENCE", 0.1)
    with database() as named, ExitStack() as stack:
        store = open_store(named, data_dir=tmp_path)
        stack.callback(store.shut)
        stack.callback(go.set)
        hold(monkeypatch, lambda: go.wait(PATIENCE))
        many = (transaction(store) for _ in range(pool.MOST + 1))
        with pytest.raises(Unavailable, match="no connection to the database: the server, or the"):
            any(stack.enter_context(each) is None for each in many)


@pytest.mark.parametrize(
    ("url", "timeout"),
    [
        ("postgresql://hub@one.example/tocsin", "5"),
        ("postgresql://hub@one.example,two.example/tocsin", "2"),
        ("host=one.example hostaddr=192.0.2.1,192.0.2.2", "2"),
        ("postgresql://hub@one.example,two.example/tocsin?connect_timeout=9", "9"),
    ],
)
def test_each_of_several_hosts_gets_less_time(url: str, timeout: str) -> None:
    assert conninfo_to_dict(engine.complete_conninfo(url))["connect_timeout"] == timeout


@pytest.fixture
def silent() -> Iterator[tuple[str, list[object]]]:
    """A host that ends each connection, as a port, and the connections that it got."""
    met: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def meet() -> None:
            with suppress(OSError):
                while True:
                    peer, _ = server.accept()
                    met.append(peer)
                    peer.close()

        thread = threading.Thread(target=meet)
        thread.start()
        yield str(server.getsockname()[1]), met
        server.shutdown(socket.SHUT_RDWR)
    thread.join(PATIENCE)


def test_a_dead_first_host_is_tried_once_a_minute(
    silent: tuple[str, list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    port, met = silent
    past = 1000.0
    monkeypatch.setattr(hosts, "time", SimpleNamespace(monotonic=lambda: past))
    with database() as named:
        given = conninfo_to_dict(named)
        several = {"host": f"127.0.0.1,{given['host']}", "port": f"{port},{given['port']}"}
        conninfo = make_conninfo(**given | several)
        for minutes in (1, 2):
            for _ in range(3):
                with hosts.connect(conninfo) as raw:
                    assert raw.info.host == given["host"]
            assert len(met) == minutes
            past += hosts.REMEMBERED


def test_a_host_that_answers_again_comes_first_again(silent: tuple[str, list[object]]) -> None:
    port, met = silent
    with database() as named:
        given = conninfo_to_dict(named)
        several = {"host": f"{given['host']},127.0.0.1", "port": f"{given['port']},{port}"}
        conninfo = make_conninfo(**given | several)
        info = SimpleNamespace(
            host="127.0.0.1", port=int(port), parameter_status=lambda name: "off"
        )
        hosts.remember(conninfo, raw_with(info))
        assert hosts.in_order(conninfo) != conninfo
        for _ in range(2):
            hosts.connect(conninfo).close()
        assert len(met) == 1
        assert hosts.in_order(conninfo) == conninfo


def test_only_a_host_that_takes_writes_is_remembered() -> None:
    conninfo = make_conninfo(host="one.example,two.example", port="5433")
    standby = {"in_hot_standby": "on"}
    for states, first in ((standby, "one"), ({"in_hot_standby": "off"}, "two"), ({}, "one")):
        info = SimpleNamespace(host="two.example", port=5433, parameter_status=states.get)
        hosts.remember(conninfo, raw_with(info))
        assert conninfo_to_dict(hosts.in_order(conninfo))["host"].startswith(first)


def test_an_address_is_remembered_among_several_with_the_same_name() -> None:
    """With `verify-full`, the certificates of all servers have this name."""
    addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
    conninfo = make_conninfo(host=",".join(["db.example"] * 3), hostaddr=",".join(addresses))
    for at, address in enumerate(addresses):
        info = SimpleNamespace(
            host="db.example", port=5432, hostaddr=address, parameter_status=lambda name: "off"
        )
        hosts.remember(conninfo, raw_with(info))
        given = conninfo_to_dict(hosts.in_order(conninfo))
        assert given["host"] == "db.example,db.example,db.example"
        others = [*addresses[:at], *addresses[at + 1 :]]
        assert str(given["hostaddr"]).split(",") == [address, *others]


def raw_with(info: object) -> Any:
    """A connection with this information about it."""
    return SimpleNamespace(info=info)
