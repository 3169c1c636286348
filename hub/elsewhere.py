"""What is not where it was: repositories under another name, issues in another repository."""

from hub import access
from hub.call import Call
from hub.context import House
from hub.entry import Who
from hub.errors import Moved
from hub.operation import Operation
from hub.resolve import Left
from hub.routing import path_of
from store import Connection, Row, repositories
from store.errors import Gone, Missing


def follow(db: Connection, house: House, operation: Operation, call: Call, who: Who) -> None:
    """Moved where the path has a name that a repository had before, for those who may see it."""
    needed, values = operation.access, call.values
    if not isinstance(needed, access.OnRepo) or "owner" not in values:
        return
    owner, name = values["owner"], values["repo"]
    repo = None if "\0" in owner + name else repositories.formerly(db, owner, name)
    if repo is not None and access.sees(db, needed, who.caller, repo):
        path = path_of(call.scope).removeprefix(house.urls.prefix)
        raise _moved(house, call, repo, path.split("/")[4:])


def left(
    db: Connection, house: House, operation: Operation, call: Call, who: Who, error: Left
) -> Exception:
    """What to answer where something in the path was deleted, or went to another repository: that
    it is gone, or for those who may see it there, that it is moved.
    """
    row, needed = error.row, operation.access
    if row.get("deleted_at") is not None:
        return Gone(f"This {error.argument.replace('_', ' ')} was deleted")
    repo = _now(db, str(row["moved_to"]))
    if repo is None or not isinstance(needed, access.OnRepo):
        return Missing(error.argument)
    if not access.sees(db, needed, who.caller, repo):
        return Missing(error.argument)
    path = path_of(call.scope).split("/")
    template = operation.path.split("/")
    place = template.index(f"{{{error.argument}_number}}") - len(template)
    rest = [*path[place - 1 : place], str(row["moved_number"]), *path[len(path) + place + 1 :]]
    return _moved(house, call, repo, rest)


def _now(db: Connection, full_name: str) -> Row | None:
    owner, _, name = full_name.partition("/")
    return repositories.find(db, owner, name) or repositories.formerly(db, owner, name)


def _moved(house: House, call: Call, repo: Row, rest: list[str]) -> Moved:
    query = call.scope["query_string"].decode("latin-1")
    url = "/".join([f"{house.urls.root}/repositories/{repo['id']}", *rest])
    return Moved(f"{url}?{query}" if query else url)
