"""Redirects for renamed repositories and for issues moved to another repository."""

from hub.auth import repository_access
from hub.auth.access import Access
from hub.http.errors import MovedPermanently
from hub.http.routing import path_of
from hub.rest.authenticate import Principal
from hub.rest.context import Services
from hub.rest.operation import Operation
from hub.rest.request import Request
from hub.rest.resolve import GoneOrMoved
from store import Connection, Row
from store.apps import installation_repositories, installations
from store.errors import Gone, Missing
from store.repositories import repositories, repository_names


def follow_rename(
    db: Connection, services: Services, operation: Operation, request: Request, who: Principal
) -> None:
    """Raise MovedPermanently if the path has a repository's former name.

    It does so only for callers who may see the repository.
    """
    needed, values = operation.access, request.values
    if "owner" not in values:
        return
    owner, name = values["owner"], values["repo"]
    repo = repositories.by_former_name(db, owner, name)
    if repo is not None and _may_see(db, needed, who, repo):
        raise _moved(request, services.urls.repository_by_id(repo["id"], path_of(request.scope)))


def _may_see(db: Connection, needed: Access, who: Principal, repo: Row) -> bool:
    if isinstance(needed, repository_access.OnRepo):
        return repository_access.may_see(db, needed, who.caller, repo)
    if who.app is None:
        return False
    found = installations.on_account(db, who.app["id"], repo["owner_id"])
    return found is not None and installation_repositories.covers(db, found, repo)


def gone_or_moved(
    db: Connection,
    services: Services,
    operation: Operation,
    request: Request,
    who: Principal,
    error: GoneOrMoved,
) -> Exception:
    """Return the error for a row in the path that was deleted or moved to another repository.

    Gone for a deleted row, MovedPermanently if the caller may see the row's new repository, and
    Missing otherwise.
    """
    row, needed = error.row, operation.access
    if row.get("deleted_at") is not None:
        return Gone(f"This {error.argument.replace('_', ' ')} was deleted")
    repo = _destination(db, row)
    if repo is None or not isinstance(needed, repository_access.OnRepo):
        return Missing(error.argument)
    if not repository_access.may_see(db, needed, who.caller, repo):
        return Missing(error.argument)
    path = path_of(request.scope).split("/")
    template = operation.path.split("/")
    place = template.index(f"{{{error.argument}_number}}") - len(template)
    rest = [*path[place - 1 : place], str(row["moved_number"]), *path[len(path) + place + 1 :]]
    return _moved(request, "/".join([f"{services.urls.root}/repositories/{repo['id']}", *rest]))


def _destination(db: Connection, row: Row) -> Row | None:
    if row["moved_repo_id"] is not None:
        return repositories.get(db, row["moved_repo_id"])
    # It was not known here at that time.
    owner, _, name = str(row["moved_to"]).partition("/")
    return repository_names.find(db, owner, name)


def _moved(request: Request, url: str) -> MovedPermanently:
    query = request.scope["query_string"].decode("latin-1")
    return MovedPermanently(f"{url}?{query}" if query else url)
