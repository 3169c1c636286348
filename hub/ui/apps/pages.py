"""Apps: their keys, their installations, and their hooks."""

from operator import itemgetter
from typing import Any

from hub.api.apps import installation_changes
from hub.ui.lists import filters
from hub.ui.lists.frame import filter_values
from hub.ui.lists.newest import NewestList
from hub.ui.lists.sorting import Sorting
from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.accounts import app_list, apps
from store.apps import app_hooks, app_keys, installations
from store.delivery import attempts
from store.errors import Missing, existing

ui = Section("Apps", "/apps", "operator", second=True)

PATH = "/apps/{app_id}"
ON = f"{PATH}/installations/{{installation_id}}"
LATEST = 10
# The page of an app shows this many installations.
INSTALLATIONS = 200
# The page of an app names this many repositories of each installation.
REPOSITORIES = 10
LONGEST = 100
LIST = NewestList(
    f"{ROOT}/apps",
    Sorting(
        "-created",
        app=False, owner=False, keys=True, installations=True, tokens=True, created=True,
    ),
    {"app": itemgetter("name"), "created": itemgetter("id")}
    | {name: itemgetter(name) for name in ("owner", "keys", "installations", "tokens")},
    size=50,
)  # fmt: skip


@ui.page("/apps", "apps.html", who="operator")
def list_apps(ctx: ViewContext) -> dict[str, Any]:
    """List the apps."""
    asked = filters.period(ctx)
    chosen = {"name": ctx.asked("name", LONGEST), **asked.chosen}
    rows, values = LIST.page(
        ctx,
        chosen,
        lambda limit, before: app_list.page(
            ctx.db, limit=limit, before=before, text=chosen["name"], times=asked.times
        ),
        lambda: app_list.count(ctx.db, chosen["name"], asked.times),
    )
    return {
        **values,
        "apps": rows,
        **filter_values(chosen, asked),
    }


@ui.page(PATH, "app.html", who="operator")
def show_app(ctx: ViewContext) -> dict[str, Any]:
    """Show an app with its keys, its installations, and its hook with the latest deliveries."""
    app = _app(ctx)
    hook = app_hooks.of(ctx.db, app["id"])
    latest = [] if hook is None else attempts.page(ctx.db, hook["id"], limit=LATEST)
    return {
        "app": app,
        "keys": app_keys.of_app(ctx.db, app["id"]),
        "installations": installations.of_app(ctx.db, app["id"], INSTALLATIONS, REPOSITORIES + 1),
        "most_installations": INSTALLATIONS,
        "most_repositories": REPOSITORIES,
        "hook": hook,
        "latest": latest,
        "may_run": ctx.viewer.may_run,
    }


@ui.act(f"{ON}/suspend", who="operator")
def suspend_installation(ctx: ViewContext) -> ActionResult:
    """Suspend an installation."""
    installation = _installation(ctx)
    caller = ctx.viewer.caller
    by = None if caller is None else caller.account_id
    installation_changes.suspend(ctx.context(installation_changes.EMITS), installation, by)
    return _result(installation, "is suspended: its tokens are rejected")


@ui.act(f"{ON}/resume", who="operator")
def resume_installation(ctx: ViewContext) -> ActionResult:
    """End the suspension of an installation."""
    installation = _installation(ctx)
    installation_changes.unsuspend(ctx.context(installation_changes.EMITS), installation)
    return _result(installation, "is active")


def _result(installation: Row, now: str) -> ActionResult:
    notice = f"The installation on {installation['login']} {now}."
    ids = {"installation": installation["id"]}
    path = f"{ROOT}/apps/{installation['app_id']}"
    return ActionResult(path, notice, ids=ids, fields=("suspended_at",))


def _app(ctx: ViewContext) -> Row:
    return existing(apps.get(ctx.db, ctx.number("app_id")), "app")


def _installation(ctx: ViewContext) -> Row:
    """Return the installation in the path, which the viewer may change."""
    ctx.viewer.check_run()
    found = installations.get(ctx.db, ctx.number("installation_id"))
    if found is None or found["app_id"] != _app(ctx)["id"]:
        raise Missing("installation")
    return found
