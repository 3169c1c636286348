"""Problems: endpoints that fail and open alerts, by host and kind, to acknowledge or to mute."""

from typing import Any
from urllib.parse import urlencode

from hub.http.errors import Forbidden
from hub.ui import quiet_times, status_text
from hub.ui.datetime_fields import field_of
from hub.ui.formatting import pluralize
from hub.ui.lists import filters, paging
from hub.ui.lists.frame import frame
from hub.ui.lists.newest import Keys, ordered
from hub.ui.lists.sorting import Sorting
from hub.ui.pages.deliveries import attempt_row
from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.alerts import problems
from store.alerts.problems import Problem
from store.clock import DAY, MINUTE
from store.database.list_order import Matches
from store.delivery import attempt_feed
from store.delivery.attempt_filter import AttemptFilter
from store.errors import existing
from store.hook_state import hook_health
from store.mail import outbox

ui = Section("Problems", "/problems")

KINDS = {problems.OPEN: "bad", problems.ACKNOWLEDGED: "warn", problems.MUTED: "none"}
# The page of a problem shows this many attempts and hooks, the worst hooks first.
SHOWN, MOST_SHOWN = 10, 100
PATH = f"{ROOT}/problems"
PAGE = 50
SORTING = Sorting(
    "state", problem=False, state=False, deliveries=True, hooks=True, since=True, latest=True
)
KEYS: Keys = {
    "problem": lambda row: row["named"],
    "state": lambda row: list(KINDS).index(row["problem"].state),
    "deliveries": lambda row: row["problem"].deliveries,
    "hooks": lambda row: len(row["problem"].hooks),
    "since": lambda row: row["problem"].since,
    "latest": lambda row: row["problem"].last_at,
}
LONGEST = 300


@ui.page("/problems", "problems.html")
def list_problems(ctx: ViewContext) -> dict[str, Any]:
    """List the problems that match the query, open ones first or in the chosen order."""
    asked = filters.period(ctx)
    chosen = {"name": ctx.asked("name", LONGEST), "state": ctx.asked("state"), **asked.chosen}
    every = problems.list_all(ctx.db, ctx.repositories(), ctx.organizations())
    rows = [problem_row(one) for one in every]
    found = [row for row in rows if _matches(row, chosen, asked)]
    sort, skip = SORTING.asked(ctx), paging.skipped(ctx)
    if skip >= len(found):
        skip = 0  # the problems of that page have ended
    listed = ordered(found, KEYS, SORTING.order(sort)) if sort else found
    following = {**chosen, "sort": sort}
    return {
        **frame(ctx, PATH, SORTING, chosen, asked),
        "problems": listed[skip : skip + PAGE],
        "states": list(KINDS),
        "matches": Matches(len(found)),
        "older": paging.following(PATH, following, skip + PAGE, more=len(found) > skip + PAGE),
        "newest": paging.first(PATH, following) if skip else "",
        "mails": ctx.services.settings.mail_host is not None,
        "unsent": outbox.count_unsent(ctx.db, ctx.now - DAY) if ctx.viewer.operator else 0,
    }


def _matches(row: Row, chosen: dict[str, str], asked: filters.Period) -> bool:
    """Return whether a problem is chosen by its name, its state, and the time in which it was."""
    problem = row["problem"]
    return (
        chosen["name"].lower() in row["named"].lower()
        and chosen["state"] in ("", problem.state)
        and asked.times.overlaps(problem.since, problem.last_at)
    )


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
def show_problem(ctx: ViewContext) -> dict[str, Any]:
    """Show a problem with its hooks, its latest attempts, and what can be done."""
    problem = _found(ctx, ctx.asked("host", LONGEST), ctx.asked("kind"))
    latest = []
    if problem.attempt_id:
        hidden = ctx.viewer.hidden_owners(ctx.db)
        wanted = AttemptFilter(hook_ids=problem.hook_ids, status="failure", hidden_owners=hidden)
        latest = attempt_feed.page(ctx.db, wanted, limit=SHOWN).rows
    chosen = {
        "hook": ",".join(map(str, problem.hook_ids)),
        "status": "failed",
        "since": field_of(problem.since - MINUTE),
        "count": "1",
    }
    hooks = hook_health.with_attempts(ctx.db, problem.hooks[:MOST_SHOWN])
    return {
        **problem_row(problem),
        "hooks": [status_text.with_status(hook, ctx.now) for hook in hooks],
        "attempts": [attempt_row(row, ctx.now) for row in latest],
        "retry": f"{ROOT}/replay?{urlencode(chosen)}",
        "quiet_times": quiet_times.CHOICES,
        "may_change": ctx.viewer.may_change_any if problem.hooks else ctx.viewer.may_run,
    }


def _found(ctx: ViewContext, host: str, kind: str) -> Problem:
    wanted = (host, kind)
    return existing(
        problems.find(ctx.db, wanted, ctx.repositories(), ctx.organizations()),
        "problem: it may have ended",
    )


def _changeable(ctx: ViewContext) -> tuple[Problem, str]:
    """Return the problem in the form and its page's path.

    Raises Missing or Forbidden if the viewer may not change its hooks.
    """
    ctx.viewer.check_change_any()
    host, kind = ctx.form.get("host", "")[:LONGEST], ctx.form.get("kind", "")
    problem = _found(ctx, host, kind)
    for number in problem.hook_ids:
        hook, _ = ctx.viewer.hook(ctx.db, number)
        ctx.viewer.check_change(ctx.db, hook)
    if not problem.hooks and not ctx.viewer.may_run:
        raise Forbidden("Only operators of the installation may do this.")
    return problem, problem_row(problem)["place"]


@ui.act("/problems/acknowledge")
def acknowledge_problem(ctx: ViewContext) -> ActionResult:
    """Acknowledge a problem: the viewer works on it."""
    problem, place = _changeable(ctx)
    problems.acknowledge(ctx.db, problem, ctx.viewer.name)
    return ActionResult(place, "Acknowledged. It is open again if another hook gets this problem.")


@ui.act("/problems/mute")
def mute_problem(ctx: ViewContext) -> ActionResult:
    """Mute a problem for a time."""
    problem, place = _changeable(ctx)
    until, words = quiet_times.chosen(ctx)
    problems.mute(ctx.db, problem, until)
    return ActionResult(place, f"Muted for {words}.")


@ui.act("/problems/reopen")
def reopen_problem(ctx: ViewContext) -> ActionResult:
    """Open a problem again that was acknowledged or muted."""
    problem, place = _changeable(ctx)
    problems.reopen(ctx.db, problem)
    return ActionResult(place, "The problem is open again.")
