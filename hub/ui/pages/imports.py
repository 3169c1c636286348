"""Source imports: their progress and their problems."""

from typing import Any
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from hub.api.imports.import_serializers import TEXTS
from hub.api.imports.source_imports import (
    CHANGE,
    EVENT,
    LOOK,
    SourceImportChange,
    cancelled,
    restarted,
)
from hub.auth import access
from hub.http.errors import HubError
from hub.settings import HubSettings
from hub.ui.lists import filters, paging, views
from hub.ui.lists.sorting import Sorting
from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer
from store import Row
from store.errors import Invalid, Missing
from store.imports import import_queries, imports
from store.imports.import_queries import ImportFilter
from store.imports.imports import AT_WORK

PATH = f"{ROOT}/imports"
ANSWERS = ("vcs", "vcs_username", "vcs_password", "tfvc_project")
SYSTEMS = ("git", "mercurial", "subversion")
SORTING = Sorting(
    "-changed", repository=False, state=False, commits=True, authors=True, changed=True
)
PAGE = 50


def _offered(settings: HubSettings, viewer: DashboardViewer) -> bool:
    return settings.imports


ui = Section("Imports", "/imports", "user", _offered, second=True)


@ui.page("/imports", "imports.html")
def list_imports(look: ViewContext) -> dict[str, Any]:
    """List the imports into the viewer's repositories."""
    if not look.services.settings.imports:
        raise Missing("import: the setting imports is off")
    look.viewer.check_token(LOOK)
    asked = filters.period(look)
    names = ("repository", "state", "host")
    chosen = {**{name: look.asked(name) for name in names}, **asked.chosen}
    wanted = ImportFilter(
        filters.within(look, chosen["repository"]),
        chosen["state"],
        chosen["host"],
        asked.since,
        asked.until,
    )
    sort, skip = SORTING.asked(look), paging.skipped(look)
    rows = import_queries.page(
        look.db, wanted, limit=PAGE + 1, order=SORTING.order(sort), skip=skip
    )
    following = {**chosen, "sort": sort}
    return {
        "imports": [import_row(row) for row in rows[:PAGE]],
        "chosen": chosen,
        "filtered": any(chosen.values()),
        "ranges": filters.RANGES,
        "problem": asked.problem,
        "states": list(import_queries.STATES),
        "sort": sort,
        "heads": SORTING.heads(sort, PATH, chosen),
        "views": views.of_list(look, PATH, following),
        "matches": import_queries.count(look.db, wanted),
        "older": paging.following(PATH, following, skip + PAGE, more=len(rows) > PAGE),
        "first": paging.first(PATH, following),
        "newest": paging.first(PATH, following) if skip else "",
        "root": look.services.urls.root,
    }


@ui.page("/imports/{repo_id}", "import.html")
def show_import(look: ViewContext) -> dict[str, Any]:
    """Show an import, with what can be done about it."""
    repo, row = _found(look)
    return {
        "import_": {**import_row({**row, "repository": repo["full_name"]})},
        "choices": [one["tfvc_project"] for one in row["project_choices"]],
        "needs_access": row["status"] in ("auth_failed", "detection_needs_auth"),
        "systems": SYSTEMS,
        "may_change": _may_change(look, repo),
    }


@ui.act("/imports/{repo_id}/restart")
def restart_import(look: ViewContext) -> ActionResult:
    """Restart an import, with the answers in the form."""
    repo, row = _found(look)
    _check_change(look, repo)
    given = {name: look.form.get(name, "") for name in ANSWERS if look.form.get(name, "").strip()}
    try:
        body = TypeAdapter(SourceImportChange).validate_python(given)
    except ValidationError as error:
        raise Invalid(error.errors()[0]["msg"]) from None
    caller = look.viewer.caller
    account_id = row["account_id"] if caller is None else caller.account_id
    restarted(look.db, repo["id"], account_id, body)
    notice = "The import begins again."
    return ActionResult(f"{PATH}/{repo['id']}", notice, ids={"id": repo["id"]}, fields=tuple(given))


@ui.act("/imports/{repo_id}/cancel")
def cancel_import(look: ViewContext) -> ActionResult:
    """Cancel an import, or remove the record of one that is complete."""
    repo, _ = _found(look)
    _check_change(look, repo)
    cancelled(look.context((EVENT,)), repo)
    notice = f"The import into {repo['full_name']} has been cancelled."
    return ActionResult(PATH, notice, ids={"id": repo["id"]})


def _found(look: ViewContext) -> tuple[Row, Row]:
    """Return a repository that they may see, and its import. Raises Missing or Forbidden."""
    if not look.services.settings.imports:
        raise Missing("import: the setting imports is off")
    look.viewer.check_token(LOOK)
    repo = look.viewer.repository(look.db, look.number("repo_id"))
    return repo, imports.needed(look.db, repo["id"])


def _check_change(look: ViewContext, repo: Row) -> None:
    if not look.viewer.is_unbound:
        access.check(look.db, CHANGE, look.viewer.caller, repo)


def _may_change(look: ViewContext, repo: Row) -> bool:
    try:
        _check_change(look, repo)
    except HubError:
        return False
    return True


def import_row(row: Row) -> dict[str, Any]:
    """Return an import's values for the template."""
    return {
        **row,
        "source": without_credentials(row["vcs_url"]),
        "kind": _kind(row["status"]),
        "text": TEXTS[row["status"]].rstrip("."),
        "percent": _percent(row),
        "at_work": row["status"] in AT_WORK,
    }


def _kind(status: str) -> str:
    if status in AT_WORK:
        return "busy"
    return "good" if status == "complete" else "bad"


def _percent(row: Row) -> int | None:
    """Return the progress of the present step in percent; None if it is not known."""
    percent = {"importing": row["import_percent"], "pushing": row["push_percent"]}
    found: int | None = percent.get(row["status"])
    return found


def without_credentials(url: str) -> str:
    """Return a URL without the user name and password in it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid URL"
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
