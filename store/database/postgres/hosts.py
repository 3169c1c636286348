"""The host of a URL with several hosts that answered last, so that a dead one is not tried first.

The driver tries the hosts in the order of the URL. If the first one drops what it gets, each new
connection would wait for its timeout.
"""

import time
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from store.database.postgres.errors import Raw

# Seconds for which the order of the URL does not count. After them, its first host gets a chance.
REMEMBERED = 60.0
LISTS = ("host", "hostaddr", "port")

_answered: dict[str, tuple[int, float]] = {}
"""For a connection string: the place of the host in it, and when it answered."""


def connect(conninfo: str) -> Raw:
    """Connect without the pool. Each statement is a transaction."""
    raw = psycopg.connect(in_order(conninfo), autocommit=True)
    remember(conninfo, raw)
    return raw


def in_order(conninfo: str) -> str:
    """Return the connection string, with the host first that answered lately. All others follow."""
    place, at = _answered.get(conninfo, (0, 0.0))
    if not place or time.monotonic() - at >= REMEMBERED:
        return conninfo
    given: dict[str, Any] = conninfo_to_dict(conninfo)
    lists = {name: str(given[name]).split(",") for name in LISTS if "," in str(given.get(name, ""))}
    moved = {name: [each[place], *each[:place], *each[place + 1 :]] for name, each in lists.items()}
    return make_conninfo(**given | {name: ",".join(each) for name, each in moved.items()})


def remember(conninfo: str, raw: Raw) -> None:
    """Remember which host of the connection string a new connection leads to.

    A standby is not remembered: as soon as there is a primary, that one counts.
    """
    place = _place(conninfo_to_dict(conninfo), raw)
    if not place or raw.info.parameter_status("in_hot_standby") != "off":
        _answered.pop(conninfo, None)
    elif _answered.get(conninfo, (0, 0.0))[0] != place or in_order(conninfo) == conninfo:
        _answered[conninfo] = place, time.monotonic()


def _place(given: dict[str, Any], raw: Raw) -> int:
    """Return the place of the connection's host. The first one has the place 0, and so has none."""
    hosts = str(given.get("host") or given.get("hostaddr") or "").split(",")
    ports = str(given.get("port") or "5432").split(",")
    # Several addresses may share a name, which is the one in the servers' certificate.
    addresses = str(given.get("hostaddr") or "").split(",")
    for place, host in enumerate(hosts):
        port, address = _at(ports, place), _at(addresses, place)
        is_same = (host, port) == (raw.info.host, str(raw.info.port))
        if is_same and (not address or address == raw.info.hostaddr):
            return place
    return 0


def _at(values: list[str], place: int) -> str:
    return values[place] if len(values) > 1 else values[0]
