"""Conversion of path parameters to rows, each looked up within the row before it."""

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
# Parameters that are texts in spite of their names: a workflow may be named by its file, too.
TEXTS = ("client_id", "workflow_id")
# Parameters that may hold slashes, as names of branches, tags and labels do.
SLASHED = ("branch", "commit_sha", "name", "ref")

# The path of a repository by its id. No repository name can collide with it.
ID = ":id"
BY_ID = f"/repositories/{{{ID}}}"
BY_NAME = "/repos/{owner}/{repo}"

Loader = Callable[..., Row | None]
"""Finds a row.

It is called as `loader(db, id of the row before, value)`, or `loader(db, value)` for a row that is
within no other. For the first parameter, the row before is the authenticated app, or the caller's
account if the access is `owned`. The value is a number if the parameter ends in `_id` or `_number`
and is not in TEXTS; otherwise it is a text."""
Values = Mapping[str, str]
Find = Callable[[Connection, Row | None, Values], Any]


@dataclass(frozen=True, slots=True)
class PathStep:
    """A path parameter as an argument, and the function that finds its value."""

    argument: str
    find: Find
    is_row: bool = True


class GoneOrMoved(Exception):
    """The row of this argument was deleted (`deleted_at`), or moved to another repository.

    A moved row has `moved_to`, `moved_number` and `moved_repo_id`.
    """

    def __init__(self, argument: str, row: Row) -> None:
        super().__init__(argument)
        self.argument = argument
        self.row = row


def with_id(path: str) -> list[str]:
    """Return a path and, if it is in a repository, the same with the repository's id."""
    if not path.startswith(BY_NAME):
        return [path]
    return [path, BY_ID + path.removeprefix(BY_NAME)]


def text(db: Connection, value: str) -> Row | None:
    """Mark a parameter that is no row: the handler receives it as it is. It is never called."""
    raise NotImplementedError("it is never called")


def _repository(db: Connection, within: Row | None, values: Values) -> Row | None:
    if ID not in values:
        return repositories.find(db, values["owner"], values["repo"])
    number = natural(values[ID])
    return None if number is None else repositories.get(db, number)


REPOSITORY = PathStep("repo", _repository)


def steps_of(path: str, loaders: Mapping[str, Loader], but: str) -> tuple[PathStep, ...]:
    """Return the steps for a path's parameters, without the parameter `but`.

    Raises KeyError for a parameter without a loader.
    """
    names = PARAMETER.findall(path)
    steps = []
    if names[:2] == ["owner", "repo"]:
        steps.append(REPOSITORY)
        names = names[2:]
    steps += [_step(name, loaders[name.replace("-", "_")]) for name in names if name != but]
    return tuple(steps)


def is_number(name: str) -> bool:
    """Return whether a path parameter is a number."""
    return name.endswith(NUMBERED) and name not in TEXTS


def _step(name: str, loader: Loader) -> PathStep:
    argument = name.replace("-", "_")
    if loader is text:
        return PathStep(argument, lambda db, within, values: _plain(values[name]), is_row=False)
    read: Callable[[str], Any] = _plain
    if is_number(name):
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
        assert within is not None, f"{{{name}}} has no row before it"
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
    """Add what the steps find to `found`, the first within `within`. Return the last row.

    Raises Missing for the first row that does not exist, and GoneOrMoved for one that was deleted
    or moved.
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
