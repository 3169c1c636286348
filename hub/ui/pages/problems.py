"""Problems: endpoints that fail and open alerts, by host and kind, to acknowledge or to mute."""

from typing import Any
from urllib.parse import urlencode

from hub.api.hooks.hook_access import WRITE
from hub.http.errors import Forbidden
from hub.ui.datetime_fields import field_of
from hub.ui.formatting import pluralize
from hub.ui.pages.deliveries import attempt_row
from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.view_context import ViewContext
from store.alerts import problems
from store.alerts.problems import Problem
from store.clock import DAY, HOUR, MINUTE
from store.delivery import attempt_feed
from store.delivery.attempt_feed import AttemptFilter
from store.errors import Invalid, Missing
from store.mail import outbox

ui = Section("Problems", "/problems")

MUTES = {"1": "1 hour", "8": "8 hours", "24": "1 day", "168": "7 days"}
KINDS = {problems.OPEN: "bad", problems.ACKNOWLEDGED: "warn", problems.MUTED: "none"}
SHOWN = 10
LONGEST = 300


@ui.page("/problems", "problems.html")
def list_problems(look: ViewContext) -> dict[str, Any]:
    """List the problems, open ones first."""
    found = problems.list_all(look.db, look.repositories(), look.organizations())
    return {
        "problems": [problem_row(one) for one in found],
        "most": problems.MOST_DELIVERIES,
        "mails": look.services.settings.mail_host is not None,
        "unsent": outbox.count_unsent(look.db, look.now - DAY) if look.viewer.operator else 0,
    }


def problem_row(problem: Problem) -> dict[str, Any]:
    """Return a problem's values for the template."""
    asked = urlencode({"host": problem.host, "kind": problem.kind})
    return {
        "problem": problem,
        "mark": KINDS[problem.state],
        "place": f"{ROOT}/problem?{asked}",
        "named": _name(problem),
    }


def _name(problem: Problem) -> str:
    if problem.attempt_id:
        return f"{problem.label} from {problem.host}"
    many = len(problem.hooks)
    where = f"{problem.host} ({pluralize(many, 'hook')})" if many else f"the {problem.host}"
    return f"{problem.label} of {where}"


@ui.page("/problem", "problem.html")
def show_problem(look: ViewContext) -> dict[str, Any]:
    """Show a problem with its hooks, its latest attempts, and what can be done."""
    problem = _found(look, look.asked("host", LONGEST), look.asked("kind"))
    latest = []
    if problem.attempt_id:
        wanted = AttemptFilter(hook_ids=problem.hook_ids, status="failure")
        latest = attempt_feed.page(look.db, wanted, limit=SHOWN).rows
    chosen = {
        "hook": ",".join(map(str, problem.hook_ids)),
        "status": "failed",
        "since": field_of(problem.since - MINUTE),
        "count": "1",
    }
    return {
        **problem_row(problem),
        "attempts": [attempt_row(row, look.now) for row in latest],
        "retry": f"{ROOT}/replay?{urlencode(chosen)}",
        "mutes": MUTES,
        "most": problems.MOST_DELIVERIES,
        "may_change": look.viewer.may_change_any if problem.hooks else look.viewer.may_run,
    }


def _found(look: ViewContext, host: str, kind: str) -> Problem:
    wanted = (host, kind)
    problem = problems.find(look.db, wanted, look.repositories(), look.organizations())
    if problem is None:
        raise Missing("problem: it may have ended")
    return problem


def _changeable(look: ViewContext) -> tuple[Problem, str]:
    """Return the problem in the form and its page's path.

    Raises Missing or Forbidden if the viewer may not change its hooks.
    """
    look.viewer.check_token(WRITE)
    host, kind = look.form.get("host", "")[:LONGEST], look.form.get("kind", "")
    problem = _found(look, host, kind)
    for number in problem.hook_ids:
        hook, _ = look.viewer.hook(look.db, number)
        look.viewer.check_change(look.db, hook)
    if not problem.hooks and not look.viewer.may_run:
        raise Forbidden("Only operators of the installation may do this.")
    return problem, problem_row(problem)["place"]


@ui.act("/problems/acknowledge")
def acknowledge_problem(look: ViewContext) -> ActionResult:
    """Say that somebody works on it."""
    problem, place = _changeable(look)
    problems.acknowledge(look.db, problem, look.viewer.name)
    return ActionResult(place, "Acknowledged. It is open again if another hook gets this problem.")


@ui.act("/problems/mute")
def mute_problem(look: ViewContext) -> ActionResult:
    """Hide it for a time."""
    problem, place = _changeable(look)
    hours = look.form.get("hours", "")
    if hours not in MUTES:
        raise Invalid("Choose how long it is muted.")
    problems.mute(look.db, problem, look.now + int(hours) * HOUR)
    return ActionResult(place, f"Muted for {MUTES[hours]}.")


@ui.act("/problems/reopen")
def reopen_problem(look: ViewContext) -> ActionResult:
    """Open it again."""
    problem, place = _changeable(look)
    problems.reopen(look.db, problem)
    return ActionResult(place, "The problem is open again.")
