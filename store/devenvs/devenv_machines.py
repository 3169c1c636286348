"""Machine types of environments: the known ones, and those in a state document."""

from dataclasses import dataclass

import orjson

from store.database import upsert
from store.database.connection import Connection
from store.devenvs import devenv_locations

GIB = 2**30
COLUMNS = "name, display_name, operating_system, storage_in_bytes, memory_in_bytes, cpus"


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine type. `locations` are names, or None for all locations."""

    name: str
    display_name: str
    operating_system: str
    storage_in_bytes: int
    memory_in_bytes: int
    cpus: int
    locations: tuple[str, ...] | None = None
    offered: bool = True

    @property
    def size(self) -> tuple[int, int, int, str]:
        """Return the key by which machine types are sorted, smallest first."""
        return self.cpus, self.memory_in_bytes, self.storage_in_bytes, self.name

    def is_at(self, location: str) -> bool:
        return self.offered and (self.locations is None or location in self.locations)


def _linux(name: str, cpus: int, memory: int, storage: int) -> Machine:
    said = f"{cpus} cores, {memory} GB RAM, {storage} GB storage"
    return Machine(name, said, "linux", storage * GIB, memory * GIB, cpus)


KNOWN = (
    _linux("basicLinux32gb", 2, 8, 32),
    _linux("standardLinux32gb", 4, 16, 32),
    _linux("premiumLinux", 8, 32, 64),
    _linux("largePremiumLinux", 16, 64, 128),
    _linux("xLargePremiumLinux", 32, 128, 128),
)


def list_all(db: Connection) -> list[Machine]:
    """Return every machine type, offered or not, smallest first."""
    rows = db.tuples(f"SELECT {COLUMNS}, locations, offered FROM devenv_machine")
    found = {one.name: one for one in KNOWN}
    for name, shown, system, storage, memory, cpus, places, offered in rows:
        where = None if places is None else tuple(orjson.loads(places))
        found[name] = Machine(name, shown, system, storage, memory, cpus, where, bool(offered))
    return sorted(found.values(), key=lambda one: one.size)


def get(db: Connection, name: str) -> Machine | None:
    """Return the machine type with this name, or None."""
    return next((one for one in list_all(db) if one.name == name), None)


def put(db: Connection, machine: Machine) -> bool:
    """Add or change a machine type. Return whether that changes anything.

    Raises Invalid for an unknown location.
    """
    places = machine.locations and tuple(
        devenv_locations.named(db, one) for one in machine.locations
    )
    values = {name: getattr(machine, name) for name in COLUMNS.split(", ")}
    before = get(db, machine.name)
    if before == Machine(**values, locations=places, offered=machine.offered):
        return False
    values["locations"] = None if places is None else orjson.dumps(places).decode()
    upsert.insert_or_replace(
        db, "devenv_machine", values | {"offered": int(machine.offered)}, "name"
    )
    return True
