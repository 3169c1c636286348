"""Scheduled jobs: their schedules, their results, and running them now."""

from typing import Any

from hub.admin.administrators import RUN
from hub.http.errors import Forbidden
from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.jobs import jobs

ui = Section("Jobs", "/jobs", "operator", second=True)

ABOUT = {
    "expire": "Ends expired limits, invitations, seats and authorizations.",
    "deploy": "Continues deployment jobs.",
    "replay": "Continues replays.",
    "republish": "Republishes the present state.",
    "republish-begin": "Requests a republication, as the settings schedule it.",
    "prune": "Deletes data whose retention has ended.",
    "reports": "Creates the usage reports.",
    "import": "Continues source imports.",
}
KINDS = {"done": "good", "failed": "bad", "running": "busy", "stopped": "warn", None: "none"}


@ui.page("/jobs", "jobs.html", who="operator")
def list_jobs(look: ViewContext) -> dict[str, Any]:
    """List the jobs that a worker has scheduled."""
    return {
        "may_run": look.viewer.may_run,
        "jobs": [job_row(row, look.now) for row in jobs.every(look.db)],
    }


def job_row(row: Row, now: int) -> dict[str, Any]:
    """Return a job's values for the template."""
    outcome = jobs.outcome_of(row, now)
    began, ended = row["started_at"], row["ended_at"]
    return {
        **row,
        "about": ABOUT.get(row["name"], ""),
        "state": outcome or "not yet run",
        "kind": KINDS[outcome],
        "took": None if began is None or ended is None else max(ended - began, 0),
        "next_at": jobs.ready_at(row, now),
        "asked": row["asked_at"] is not None and outcome != "running",
    }


@ui.act("/jobs/{name}/run", who="operator")
def run_job(look: ViewContext) -> ActionResult:
    """Request that a job runs now."""
    if not look.viewer.may_run:
        raise Forbidden(f"This requires a token with the scope {RUN[0]}.")
    name = look.values["name"]
    jobs.request_run(look.db, name)
    return ActionResult(
        f"{ROOT}/jobs", f"{name} runs as soon as a worker is free.", ids={"job": name}
    )
