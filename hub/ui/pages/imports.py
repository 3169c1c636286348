"""Source imports: their progress and their problems."""

from typing import Any
from urllib.parse import urlsplit

from hub.api.imports.import_serializers import TEXTS
from hub.api.imports.source_imports import LOOK
from hub.settings import HubSettings
from hub.ui.pages.hooks import older
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer
from store import Row
from store.errors import Missing
from store.imports import import_queries
from store.imports.imports import AT_WORK

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
    before = look.asked_number("before")
    repo_ids = look.repositories()
    rows = import_queries.page(look.db, limit=PAGE + 1, before=before, repo_ids=repo_ids)
    last = rows[PAGE - 1]["repo_id"] if len(rows) > PAGE else None
    return {
        "imports": [import_row(row) for row in rows[:PAGE]],
        "older": older(f"{ROOT}/imports", {}, last),
        "newest": f"{ROOT}/imports" if before else "",
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
