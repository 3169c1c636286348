"""The locations of environments: the known ones, and those in a state document."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from store.database import upsert
from store.database.connection import Connection
from store.errors import Invalid

MOST_NETWORKS = 1000


@dataclass(frozen=True, slots=True)
class Location:
    """A location. `alias` is another name for it.

    A client in one of its `networks` is sent there. A client in no location's network is sent to
    the `default` one.
    """

    name: str
    alias: str | None = None
    networks: tuple[str, ...] = ()
    default: bool = False


KNOWN = (
    Location("EastUs", "UsEast", default=True),
    Location("WestUs2", "UsWest"),
    Location("WestEurope", "EuropeWest"),
    Location("SouthEastAsia", "SoutheastAsia"),
)


def list_all(db: Connection) -> list[Location]:
    found = {one.name: one for one in KNOWN}
    aliases = {one.name: one.alias for one in KNOWN}
    rows = db.tuples("SELECT name, networks, is_default FROM devenv_location ORDER BY name")
    for name, networks, default in rows:
        served = tuple(orjson.loads(networks))
        found[name] = Location(name, aliases.get(name), served, bool(default))
    return [*found.values()]


def get(db: Connection, name: str) -> Location | None:
    """Return the location with this name or alias, in any case, or None."""
    wanted = name.lower()
    for one in list_all(db):
        if wanted in (one.name.lower(), (one.alias or "").lower()):
            return one
    return None


def named(db: Connection, name: str) -> str:
    """Return the location's own name. Raises Invalid if there is none with this name."""
    found = get(db, name)
    if found is None:
        there = ", ".join(one.name for one in list_all(db))
        raise Invalid(f"{name[:100]!r} is none of {there}", field="location", resource="Devenv")
    return found.name


def put(
    db: Connection, name: str, *, networks: Sequence[str] | None = None, default: bool | None = None
) -> bool:
    """Add or change a location. Return whether that changes anything.

    A new default replaces the former one. Raises Invalid for a malformed network, and for removing
    the default without a new one.
    """
    known = get(db, name)
    before = known or Location(name)
    kept = before.networks if networks is None else tuple(_network(one) for one in networks)
    after = Location(before.name, before.alias, kept, _default(before, default))
    if after == known:
        return False
    if after.default:
        for one in list_all(db):
            if one.default and one.name != after.name:
                _keep(db, Location(one.name, one.alias, one.networks))
    _keep(db, after)
    return True


def nearest(db: Connection, address: str) -> str:
    """Return the location for a client with this address or network.

    It is the location with the narrowest network around it, or else the default.
    """
    known = list_all(db)
    usual = next(one.name for one in known if one.default)
    try:
        asking = ipaddress.ip_network(address, strict=False)
    except ValueError:
        return usual
    around = [
        (network.prefixlen, place.name)
        for place in known
        for network in map(ipaddress.ip_network, place.networks)
        if network.version == asking.version and asking.subnet_of(network)  # type: ignore[arg-type]
    ]
    return max(around)[1] if around else usual


def _default(before: Location, wanted: bool | None) -> bool:
    if wanted is False and before.default:
        raise Invalid("make another location the default instead", field="default")
    return before.default if wanted is None else wanted


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text))
    except ValueError as error:
        raise Invalid(f"{text!r} is not a network: {error}", field="networks") from None


def _keep(db: Connection, one: Location) -> None:
    networks = orjson.dumps(one.networks).decode()
    values = {"name": one.name, "networks": networks, "is_default": int(one.default)}
    upsert.insert_or_replace(db, "devenv_location", values, "name")
