"""Source imports: their progress and their problems."""

from typing import Any
from urllib.parse import urlsplit

from hub.api.imports.import_serializers import TEXTS
from hub.api.imports.source_imports import LOOK
from hub.settings import HubSettings
from hub.ui.lists import filters, paging, views
from hub.ui.lists.sorting import Sorting
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer
from store import Row
from store.errors import Missing
from store.imports import import_queries
from store.imports.import_queries import ImportFilter
from store.imports.imports import AT_WORK

PATH = f"{ROOT}/imports"
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
