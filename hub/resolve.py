"""From a path's parameters to rows, each looked up within the one before it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from store import Connection, Row, repositories
from store.errors import Missing

NUMBER = re.compile(r"[0-9]{1,18}")
PARAMETER = re.compile(r"\{([a-z_]+)\}")

Loader = Callable[..., Row | None]
"""`loader(db, id of the row before, number)`: the row with that number, or None."""


@dataclass(frozen=True, slots=True)
class Step:
    """One row: the argument it becomes, the parameters it takes, and who finds it."""

    argument: str
    parameters: tuple[str, ...]
    find: Callable[[Connection, Row | None, Mapping[str, str]], Row | None]


def find_repository(db: Connection, owner: str, name: str) -> Row | None:
    """The repository `owner/name`, or None."""
    # Not every engine can be asked for a text with a NUL in it, and nothing is called so.
    return None if "\0" in owner + name else repositories.find(db, owner, name)


def _repository(db: Connection, within: Row | None, values: Mapping[str, str]) -> Row | None:
    return find_repository(db, values["owner"], values["repo"])


REPOSITORY = Step("repo", ("owner", "repo"), _repository)


def _numbered(parameter: str, loader: Loader) -> Step:
    def find(db: Connection, within: Row | None, values: Mapping[str, str]) -> Row | None:
        if NUMBER.fullmatch(values[parameter]) is None:
            return None
        parents = () if within is None else (within["id"],)
        return loader(db, *parents, int(values[parameter]))

    return Step(parameter.removesuffix("_id"), (parameter,), find)


def steps_of(path: str, loaders: Mapping[str, Loader]) -> tuple[Step, ...]:
    """The steps that a path's parameters ask for. KeyError for one that nobody can find."""
    names = PARAMETER.findall(path)
    steps = []
    if names[:2] == ["owner", "repo"]:
        steps.append(REPOSITORY)
        names = names[2:]
    return (*steps, *(_numbered(name, loaders[name]) for name in names))


def take(
    db: Connection, steps: tuple[Step, ...], values: Mapping[str, str], rows: dict[str, Any]
) -> None:
    """Add the steps' rows to `rows`. Missing for the first that is not there."""
    within = next(reversed(rows.values()), None)
    for step in steps:
        within = step.find(db, within, values)
        if within is None:
            raise Missing(step.argument)
        rows[step.argument] = within
