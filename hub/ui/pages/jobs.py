"""Scheduled jobs: their schedules, their results, and running them now."""

from typing import Any

from hub.ui.lists import filters, paging
from hub.ui.lists.filters import Period
from hub.ui.lists.frame import frame
from hub.ui.lists.newest import Keys, ordered
from hub.ui.lists.sorting import Sorting
from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.database.list_order import Matches
from store.database.time_range import ALWAYS
from store.jobs import jobs

ui = Section("Jobs", "/jobs", "operator", second=True)

PATH = f"{ROOT}/jobs"

ABOUT = {
    "alerts": "Opens and closes alerts.",
    "expire": "Ends expired limits, invitations, seats and authorizations.",
    "lapse": "Ends expired leases of pull hooks, and removes the hooks that nobody uses.",
    "deploy": "Continues deployment jobs.",
    "replay": "Continues replays.",
    "republish": "Republishes the present state.",
    "republish-begin": "Requests a republication, as the settings schedule it.",
    "mail": "Makes mails of alerts, and sends them.",
    "text-index": "Indexes the texts of payloads and answers, or deletes the index.",
    "prune": "Deletes data whose retention has ended.",
    "reports": "Creates the usage reports.",
    "import": "Continues source imports.",
}
KINDS = {"done": "good", "failed": "bad", "running": "busy", "stopped": "warn", None: "none"}


SORTING = Sorting("job", job=False, started=True, duration=True, outcome=False, next=False)
# A job that never ran, and one that is not due, come last.
NEVER, LATEST = -1, 2**62


@ui.page("/jobs", "jobs.html", who="operator")
def list_jobs(ctx: ViewContext) -> dict[str, Any]:
    """List the jobs that a worker has scheduled."""
    asked = filters.period(ctx)
    chosen = {**{name: ctx.asked(name) for name in ("job", "outcome")}, **asked.chosen}
    rows = [job_row(row, ctx.now) for row in jobs.every(ctx.db)]
    found = [row for row in rows if _matches(row, chosen, asked)]
    sort = SORTING.asked(ctx)
    return {
        **frame(ctx, PATH, SORTING, chosen, asked),
        "may_run": ctx.viewer.may_run,
        "jobs": ordered(found, KEYS, SORTING.order(sort)),
        "outcomes": sorted({row["state"] for row in rows}),
        "matches": Matches(len(found)),
        "path": paging.first(PATH, {**chosen, "sort": sort}),
    }


KEYS: Keys = {
    "job": lambda row: row["name"],
    "started": lambda row: row["started_at"] or NEVER,
    "duration": lambda row: NEVER if row["took"] is None else row["took"],
    "outcome": lambda row: row["state"],
    "next": lambda row: LATEST if row["next_at"] is None else row["next_at"],
}


def _matches(row: Row, chosen: dict[str, str], asked: Period) -> bool:
    """Return whether a job is chosen by its name, its outcome, and the time of its last run."""
    if chosen["job"].lower() not in row["name"] or chosen["outcome"] not in ("", row["state"]):
        return False
    if asked.times == ALWAYS:
        return True
    began = row["started_at"]
    return began is not None and asked.times.overlaps(began, began)


def job_row(row: Row, now: int) -> dict[str, Any]:
    """Return a job's values for the template."""
    outcome = jobs.outcome_of(row, now)
    next_at = jobs.ready_at(row, now)
    return {
        **row,
        "about": ABOUT.get(row["name"], ""),
        "state": outcome or "not yet run",
        "kind": KINDS[outcome],
        "took": jobs.duration(row),
        "next_at": next_at,
        # A request that rests after a failure has a later time.
        "asked": row["asked_at"] is not None and next_at == now,
    }


@ui.act("/jobs/{name}/run", who="operator")
def run_job(ctx: ViewContext) -> ActionResult:
    """Request that a job runs now."""
    ctx.viewer.check_run()
    name = ctx.values["name"]
    jobs.request_run(ctx.db, name)
    return ActionResult(PATH, f"{name} runs as soon as a worker is free.", ids={"job": name})
