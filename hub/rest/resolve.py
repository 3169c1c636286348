"""From a path's parameters to rows, each looked up within the one before it."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hub.http.numbers import natural
from store import Connection, Row
from store.errors import Missing
from store.repositories import repositories

PARAMETER = re.compile(r"\{([a-z_:-]+)\}")
NUMBERED = ("_id", "_number")

# A repository's path by its number, which no name can take the place of.
ID = ":id"
BY_ID = f"/repositories/{{{ID}}}"

Loader = Callable[..., Row | None]
"""Who finds a row: `loader(db, id of the row before, value)`, or `loader(db, value)` for what is
within nothing. The value is a number where the parameter ends in `_id` or `_number`, otherwise,
and for `client_id`, a text."""
Values = Mapping[str, str]
Find = Callable[[Connection, Row | None, Values], Any]


@dataclass(frozen=True, slots=True)
class PathStep:
    """What a path's parameter becomes: an argument, and who finds it."""

    argument: str
    find: Find
    is_row: bool = True


class GoneOrMoved(Exception):
    """The row of this argument is there no more: it was deleted (`deleted_at`), or went to another
    repository (`moved_to`, `moved_number`).
    """

    def __init__(self, argument: str, row: Row) -> None:
        super().__init__(argument)
        self.argument = argument
        self.row = row


def text(db: Connection, value: str) -> Row | None:
    """A loader for what is no row: the handler is given the parameter as it is."""
    raise NotImplementedError("it stands for itself")


def find_repository(db: Connection, owner: str, name: str) -> Row | None:
    """The repository `owner/name`, or None."""
    # Not every engine can be asked for a text with a NUL in it, and nothing is called so.
    return None if "\0" in owner + name else repositories.find(db, owner, name)


def _repository(db: Connection, within: Row | None, values: Values) -> Row | None:
    if ID not in values:
        return find_repository(db, values["owner"], values["repo"])
    number = natural(values[ID])
    return None if number is None else repositories.get(db, number)


REPOSITORY = PathStep("repo", _repository)


def steps_of(path: str, loaders: Mapping[str, Loader], but: str = "") -> tuple[PathStep, ...]:
    """The steps that a path's parameters ask for, without the parameter `but`. KeyError for one
    that nobody can find.
    """
    names = PARAMETER.findall(path)
    steps = []
    if names[:2] == ["owner", "repo"]:
        steps.append(REPOSITORY)
        names = names[2:]
    steps += [_step(name, loaders[name.replace("-", "_")]) for name in names if name != but]
    return tuple(steps)


def _step(name: str, loader: Loader) -> PathStep:
    argument = name.replace("-", "_")
    if loader is text:
        return PathStep(argument, lambda db, within, values: _plain(values[name]), is_row=False)
    read: Callable[[str], Any] = _plain
    if name.endswith(NUMBERED) and name != "client_id":
        read = natural
    for suffix in NUMBERED:
        argument = argument.removesuffix(suffix)
    return PathStep(argument, _finder(name, loader, read))


def _finder(name: str, loader: Loader, read: Callable[[str], Any]) -> Find:
    inside = len(_positional(loader)) == 3

    def find(db: Connection, within: Row | None, values: Values) -> Row | None:
        value = read(values[name])
        if value is None:
            return None
        if not inside:
            return loader(db, value)
        assert within is not None, f"{{{name}}} is within nothing"
        return loader(db, within["id"], value)

    return find


def _positional(loader: Loader) -> list[str]:
    found = inspect.signature(loader).parameters.values()
    return [one.name for one in found if one.kind is one.POSITIONAL_OR_KEYWORD]


def _plain(value: str) -> str | None:
    return None if "\0" in value else value


def resolve_path(
    db: Connection,
    steps: tuple[PathStep, ...],
    values: Values,
    found: dict[str, Any],
    within: Row | None = None,
) -> Row | None:
    """Add what the steps find to `found`, the first within `within`; returns the last row.

    Missing for the first that is not there, Left for one that is there no more.
    """
    for step in steps:
        value = step.find(db, within, values)
        if value is None:
            raise Missing(step.argument)
        found[step.argument] = value
        if step.is_row:
            if value.get("deleted_at") is not None or value.get("moved_to") is not None:
                raise GoneOrMoved(step.argument, value)
            within = value
    return within
