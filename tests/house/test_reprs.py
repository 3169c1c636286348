"""No repr shows a secret. Log lines, tracebacks and failed assertions have the reprs of objects."""

import dataclasses
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

PACKAGES = ("store", "worker", "hub")
SECRET = re.compile(
    r"(\w+_)?(secrets?|passwords?|tokens?|verifier|nonce|private_key|signature|cookies)"
)
# Their values are the name of a choice in a form, and the service that checks passwords.
NO_SECRETS = {("HookFields", "secret"), ("Services", "passwords")}
HIDDEN = "hush"


def test_no_dataclass_shows_a_secret_in_its_repr() -> None:
    checked = {kind: secrets_of(kind) for kind in dataclasses_of_packages()}
    assert sum(map(bool, checked.values())) > 12
    shown = [kind.__qualname__ for kind, names in checked.items() if HIDDEN in repr_of(kind, names)]
    assert not shown, "give these fields `field(repr=False)`"


def dataclasses_of_packages() -> Iterator[type[Any]]:
    for package in PACKAGES:
        for found in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if not found.name.endswith("__main__"):
                module = import_module(found.name)
                yield from (one for one in vars(module).values() if is_own(one, found.name))


def is_own(one: object, module: str) -> bool:
    return isinstance(one, type) and dataclasses.is_dataclass(one) and one.__module__ == module


def secrets_of(kind: type[Any]) -> set[str]:
    names = {each.name for each in dataclasses.fields(kind) if SECRET.fullmatch(each.name)}
    return {name for name in names if (kind.__name__, name) not in NO_SECRETS}


def repr_of(kind: type[Any], secrets: set[str]) -> str:
    """The repr of an object whose secrets are HIDDEN, and whose other fields are None."""
    if not secrets:
        return ""
    one = object.__new__(kind)
    for each in dataclasses.fields(kind):
        object.__setattr__(one, each.name, HIDDEN if each.name in secrets else None)
    return repr(one)
