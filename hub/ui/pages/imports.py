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
from hub.auth import repository_access
from hub.http.errors import HubError
from hub.settings import HubSettings
from hub.ui.lists import filters, paging
from hub.ui.lists.frame import frame
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
    return settings.imports and viewer.is_covered(LOOK)


ui = Section("Imports", "/imports", "user", _offered, second=True)


@ui.page("/imports", "imports.html")
def list_imports(ctx: ViewContext) -> dict[str, Any]:
    """List the imports into the viewer's repositories."""
    _check_look(ctx)
    asked = filters.period(ctx)
    names = ("repository", "state", "host")
    chosen = {**{name: ctx.asked(name) for name in names}, **asked.chosen}
    wanted = ImportFilter(
        filters.within(ctx, chosen["repository"]),
        chosen["state"],
        chosen["host"],
        asked.since,
        asked.until,
    )
    sort, skip = SORTING.asked(ctx), paging.skipped(ctx)
    rows = import_queries.page(ctx.db, wanted, limit=PAGE + 1, order=SORTING.order(sort), skip=skip)
    following = {**chosen, "sort": sort}
    return {
        **frame(ctx, PATH, SORTING, chosen, asked),
        "imports": [import_row(row) for row in rows[:PAGE]],
        "states": list(import_queries.STATES),
        "matches": import_queries.count(ctx.db, wanted),
        "older": paging.following(PATH, following, skip + PAGE, more=len(rows) > PAGE),
        "first": paging.first(PATH, following),
        "newest": paging.first(PATH, following) if skip else "",
        "root": ctx.services.urls.root,
    }


@ui.page("/imports/{repo_id}", "import.html")
def show_import(ctx: ViewContext) -> dict[str, Any]:
    """Show an import, with what can be done about it."""
    repo, row = _found(ctx)
    return {
        "import_": import_row({**row, "repository": repo["full_name"]}),
        "choices": [one["tfvc_project"] for one in row["project_choices"]],
        "needs_access": row["status"] in ("auth_failed", "detection_needs_auth"),
        "systems": SYSTEMS,
        "may_change": _may_change(ctx, repo),
    }


@ui.act("/imports/{repo_id}/restart")
def restart_import(ctx: ViewContext) -> ActionResult:
    """Restart an import, with the answers in the form."""
    repo, row = _found(ctx)
    _check_change(ctx, repo)
    given = {name: ctx.form.get(name, "") for name in ANSWERS if ctx.form.get(name, "").strip()}
    try:
        body = TypeAdapter(SourceImportChange).validate_python(given)
    except ValidationError as error:
        raise Invalid(error.errors()[0]["msg"]) from None
    caller = ctx.viewer.caller
    account_id = row["account_id"] if caller is None else caller.account_id
    restarted(ctx.db, repo["id"], account_id, body)
    notice = "The import begins again."
    return ActionResult(f"{PATH}/{repo['id']}", notice, ids={"id": repo["id"]}, fields=tuple(given))


@ui.act("/imports/{repo_id}/cancel")
def cancel_import(ctx: ViewContext) -> ActionResult:
    """Cancel an import, or remove the record of one that is complete."""
    repo, _ = _found(ctx)
    _check_change(ctx, repo)
    cancelled(ctx.context((EVENT,)), repo)
    notice = f"The import into {repo['full_name']} has been cancelled."
    return ActionResult(PATH, notice, ids={"id": repo["id"]})


def _found(ctx: ViewContext) -> tuple[Row, Row]:
    """Return a repository that they may see, and its import. Raises Missing or Forbidden."""
    _check_look(ctx)
    repo = ctx.viewer.repository(ctx.db, ctx.number("repo_id"))
    return repo, imports.needed(ctx.db, repo["id"])


def _check_look(ctx: ViewContext) -> None:
    if not ctx.services.settings.imports:
        raise Missing("import: the setting imports is off")
    ctx.viewer.check_token(LOOK)


def _check_change(ctx: ViewContext, repo: Row) -> None:
    if not ctx.viewer.is_unbound:
        repository_access.check(ctx.db, CHANGE, ctx.viewer.caller, repo)


def _may_change(ctx: ViewContext, repo: Row) -> bool:
    try:
        _check_change(ctx, repo)
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
