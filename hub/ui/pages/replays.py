"""Replays: the worker delivers stored events once more."""

from dataclasses import asdict, fields
from operator import itemgetter
from typing import Any

from hub.http.errors import Forbidden
from hub.ui.datetime_fields import field_of, shown
from hub.ui.lists import filters, paging
from hub.ui.lists.newest import NewestList
from hub.ui.lists.paging import query
from hub.ui.lists.sorting import Sorting
from hub.ui.replay.counting import ReplayCount
from hub.ui.replay.replay_rights import check_start, may_start
from hub.ui.replay.selection import LONGEST, describe, selected
from hub.ui.section import ROOT, ActionResult, PanelUpdate, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.clock import DAY
from store.delivery.replays import replay_runs
from store.errors import Invalid, Missing
from store.hooks.event_names import PLATFORM_EVENTS

ui = Section("Replay", "/replay")

PAGE = 25
# The query parameters of the period in which replays were requested. The form of the selection has
# the usual names.
REQUESTED = ("requested", "requested_since", "requested_until")
LIST = NewestList(
    f"{ROOT}/replay",
    Sorting("-requested", state=False, delivered=True, progress=False, requested=True),
    {
        "state": itemgetter("state"),
        "delivered": itemgetter("made"),
        "progress": itemgetter("share"),
        "requested": itemgetter("id"),
    },
    PAGE,
)
FIELDS = ("repository", "hook", "event", "status", "since", "until")
# The number of selections that the page itself counts. The stream counts the rest.
SELECTIONS_AT_ONCE = 5
# The page itself counts this many events. The stream counts the rest, this many at a time.
AT_ONCE, COUNTED = 1_000, 10_000
KINDS = {
    "done": "good",
    "failed": "bad",
    "cancelled": "none",
    "under way": "busy",
    "waiting": "busy",
}


@ui.page("/replay", "replay.html")
def plan_replay(ctx: ViewContext) -> dict[str, Any]:
    """Show the selection form, its dry run, and the list of replays.

    `count=1` counts what the form has selected, and `count=usual` what is usually selected.
    """
    asked = {name: ctx.asked(name, LONGEST) for name in FIELDS}
    asked |= {name: shown(asked[name]) for name in ("since", "until")}
    chosen = asked if ctx.asked("count") == "1" else _usual(asked, ctx.now)
    repo_ids = ctx.repositories()
    runs, listed = _runs(ctx, repo_ids)
    return {
        **listed,
        "chosen": chosen,
        "names": sorted(PLATFORM_EVENTS),
        "everything": repo_ids is None,
        **_dry_run(ctx, chosen),
        "runs": runs,
    }


def _runs(ctx: ViewContext, repo_ids: list[int] | None) -> tuple[list[Row], dict[str, Any]]:
    """Return a page of replays, and the values about their list."""
    asked = filters.period(ctx, REQUESTED)
    rows, values = LIST.page(
        ctx,
        asked.chosen,
        lambda limit, before: [
            run_row(row)
            for row in replay_runs.page(
                ctx.db, limit=limit, before=before, repo_ids=repo_ids, times=asked.times
            )
        ],
        lambda: replay_runs.count(ctx.db, repo_ids, asked.times),
    )
    is_first = not (values["newest"] or values["sort"])
    return rows, {
        **values,
        "requested": asked.chosen,
        "requested_names": REQUESTED,
        "requested_problem": asked.problem,
        "filtered": any(asked.chosen.values()),
        "ranges": filters.RANGES,
        "live_list": paging.first(LIST.path, asked.chosen) if rows and is_first else "",
    }


def _usual(asked: dict[str, str], now: int) -> dict[str, str]:
    """Return the selection with which the form begins: what did not arrive in the last day."""
    if any(asked[name] for name in FIELDS if name not in ("repository", "hook")):
        return asked
    return {**asked, "status": "failed", "since": field_of(now - DAY)}


def _dry_run(ctx: ViewContext, asked: dict[str, str]) -> dict[str, Any]:
    """Return the count of the selected deliveries, if requested, or the error in the selection."""
    values: dict[str, Any] = {"problem": "", "counted": None, "more": 0, "live": "", "words": ""}
    if not ctx.asked("count"):
        return values
    try:
        chosen = selected(ctx, asked)
    except (Invalid, Missing, Forbidden) as error:
        return {**values, "problem": _wrong(error)}
    counted = ReplayCount()
    for number in range(SELECTIONS_AT_ONCE):
        counted = counted.go_on(ctx.db, chosen, AT_ONCE)
        if counted.number == number:
            break
    live = query({**asked, **{name: str(value) for name, value in asdict(counted).items()}})
    more = counted.number < len(chosen)
    return {
        **values,
        "counted": counted.many,
        "more": more,
        "live": f"{ROOT}/replay/count?{live}" if more else "",
        "words": describe(chosen, asked),
        "may_start": may_start(ctx, chosen),
    }


def _wrong(error: Exception) -> str:
    if isinstance(error, Invalid):
        return str(error)
    what = str(error) if isinstance(error, Missing) else "repository"
    return f"There is no such {what}, or you may not administer it."


@ui.live("/replay/count")
def continue_count(ctx: ViewContext, state: Any) -> tuple[Any, list[PanelUpdate]]:
    """Stream the count of a dry run, some thousand events at a time, to its end."""
    if state is None:
        state = ReplayCount(*(ctx.asked_number(one.name) or 0 for one in fields(ReplayCount)))
    chosen = selected(ctx, {name: ctx.asked(name, LONGEST) for name in FIELDS})
    if state.number >= len(chosen):
        return state, []
    state = state.go_on(ctx.db, chosen, COUNTED)
    values = {
        "counted": state.many,
        "more": state.number < len(chosen),
        "may_start": may_start(ctx, chosen),
    }
    return state, [PanelUpdate("count", "_count.html", values)]


@ui.act("/replay/start")
def start_replay(ctx: ViewContext) -> ActionResult:
    """Start the replay."""
    asked = {name: ctx.form.get(name, "").strip()[:LONGEST] for name in FIELDS}
    chosen = selected(ctx, asked)
    check_start(ctx, chosen)
    runs = [replay_runs.start(ctx.db, one, ctx.viewer.name)["id"] for one in chosen]
    if len(runs) > 1:
        notice = f"The worker runs {len(runs)} replays."
        return ActionResult(f"{ROOT}/replay", notice, ids={"replays": runs})
    notice = "The worker runs the replay; this page may be closed."
    return ActionResult(f"{ROOT}/replay/{runs[0]}", notice, ids={"replay": runs[0]})


@ui.page("/replay/{run_id}", "replay_run.html")
def show_replay(ctx: ViewContext) -> dict[str, Any]:
    """Show the progress of a replay."""
    return _run_values(ctx, _found(ctx))


@ui.live("/replay/{run_id}/live")
def follow_replay(ctx: ViewContext, state: Any) -> tuple[Any, list[PanelUpdate]]:
    """Stream the progress of a replay."""
    run = _found(ctx)
    mark = (run["moves"], run["ended_at"])
    if mark == state:
        return state, []
    return mark, [PanelUpdate("run", "_replay.html", _run_values(ctx, run))]


def _run_values(ctx: ViewContext, run: Row) -> dict[str, Any]:
    return {"run": run_row(run), "may_change": may_start(ctx, [replay_runs.selection_of(run)])}


@ui.act("/replay/{run_id}/cancel")
def cancel_replay(ctx: ViewContext) -> ActionResult:
    """Cancel a replay."""
    run = _found(ctx)
    check_start(ctx, [replay_runs.selection_of(run)])
    replay_runs.cancel(ctx.db, run["id"])
    notice = "Cancelled. Deliveries created until now are still sent."
    return ActionResult(f"{ROOT}/replay/{run['id']}", notice, ids={"replay": run["id"]})


def _found(ctx: ViewContext) -> Row:
    """Return the replay, if the viewer may see it. Raises Missing or Forbidden if not.

    It has no `url` if the viewer may not see its hook.
    """
    run = replay_runs.get(ctx.db, ctx.number("run_id"))
    if run["repo_id"] is not None:
        ctx.viewer.repository(ctx.db, run["repo_id"])
    elif ctx.repositories() is not None:
        if run["hook_id"] is None:
            raise Missing("replay")
        ctx.viewer.hook(ctx.db, run["hook_id"])
    if run["url"] is None or ctx.viewer.may_see(ctx.db, run["hook_id"]):
        return run
    return {**run, "url": None}


def run_row(run: Row) -> dict[str, Any]:
    """Return a replay's values for the template."""
    state = run["outcome"] or ("waiting" if run["started_at"] is None else "under way")
    asked = {"repository": run["repository"] or ""}
    return {
        **run,
        "state": state,
        "kind": KINDS[state],
        "took": None if run["ended_at"] is None else run["ended_at"] - run["created_at"],
        "share": round(100 * replay_runs.progress(run), 1),
        "words": describe([replay_runs.selection_of(run)], asked),
    }
