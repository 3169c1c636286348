"""Replays: the worker delivers stored events once more."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from hub.http.errors import Forbidden, HubError
from hub.ui.datetime_fields import field_of, moment_of
from hub.ui.formatting import pluralize
from hub.ui.lists.filters import hooks_named
from hub.ui.lists.paging import older, query
from hub.ui.section import ROOT, ActionResult, PanelUpdate, Section
from hub.ui.view_context import ViewContext, natural
from store import Connection, Row
from store.clock import DAY
from store.delivery import replay_runs, replay_selection
from store.delivery.replay_selection import ReplaySelection
from store.errors import Invalid, Missing
from store.hooks import hooks
from store.hooks.event_names import PLATFORM_EVENTS
from store.repositories import repositories

ui = Section("Replay", "/replay")

PAGE = 25
FIELDS = ("repository", "hook", "event", "status", "since", "until")
# Selections of several repositories: one replay for each of them.
MOST_SELECTIONS, SELECTIONS_AT_ONCE = 20, 5
# A field may hold the ids of some hundred hooks.
LONGEST = 2_000
# The page itself counts this many events. The stream counts the rest, this many at a time.
AT_ONCE, COUNTED = 1_000, 10_000
KINDS = {"done": "good", "cancelled": "none", "under way": "busy", "waiting": "busy"}


@ui.page("/replay", "replay.html")
def plan_replay(look: ViewContext) -> dict[str, Any]:
    """Show the selection form, its dry run, and the list of replays."""
    asked = {name: look.asked(name, LONGEST) for name in FIELDS}
    chosen = asked if look.asked("count") else _usual(asked, look.now)
    before = look.asked_number("before")
    repo_ids = look.repositories()
    runs = replay_runs.page(look.db, limit=PAGE + 1, before=before, repo_ids=repo_ids)
    last = runs[PAGE - 1]["id"] if len(runs) > PAGE else None
    return {
        "chosen": chosen,
        "names": sorted(PLATFORM_EVENTS),
        "everything": repo_ids is None,
        **_dry_run(look, asked),
        "runs": [run_row(row) for row in runs[:PAGE]],
        "older": older(f"{ROOT}/replay", {}, last),
        "newest": f"{ROOT}/replay" if before else "",
    }


def _usual(asked: dict[str, str], now: int) -> dict[str, str]:
    """Return the selection with which the form begins: what did not arrive in the last day."""
    if any(asked[name] for name in FIELDS if name not in ("repository", "hook")):
        return asked
    return {**asked, "status": "failed", "since": field_of(now - DAY)}


def _dry_run(look: ViewContext, asked: dict[str, str]) -> dict[str, Any]:
    """Return the count of the selected deliveries, if requested, or the error in the selection."""
    values: dict[str, Any] = {"problem": "", "counted": None, "more": 0, "live": "", "words": ""}
    if not look.asked("count"):
        return values
    try:
        chosen = selected(look, asked)
    except (Invalid, Missing, Forbidden) as error:
        return {**values, "problem": _wrong(error)}
    counted = Counted()
    for number in range(SELECTIONS_AT_ONCE):
        counted = counted.go_on(look.db, chosen, AT_ONCE)
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
    }


@dataclass(frozen=True, slots=True)
class Counted:
    """How far selections have been counted: within the one of this number, after this event."""

    number: int = 0
    after: int = 0
    upto: int = 0
    many: int = 0

    def go_on(self, db: Connection, chosen: list[ReplaySelection], looked: int) -> "Counted":
        """Count within the next `looked` events of the present selection."""
        if self.number >= len(chosen):
            return self
        one, after, upto = chosen[self.number], self.after, self.upto
        if not after:
            after, upto = replay_selection.id_range(db, one)
        found, behind = replay_selection.count(db, one, after, upto, looked)
        if behind:
            return Counted(self.number, behind, upto, self.many + found)
        return Counted(self.number + 1, 0, 0, self.many + found)


def _wrong(error: Exception) -> str:
    if isinstance(error, Invalid):
        return str(error)
    what = str(error) if isinstance(error, Missing) else "repository"
    return f"There is no such {what}, or you may not administer it."


def selected(look: ViewContext, asked: dict[str, str]) -> list[ReplaySelection]:
    """Return the selections in a form: several if its hooks belong to several repositories.

    Raises Invalid, Missing or Forbidden if it is not valid.
    """
    since, until = _moment(asked, "since"), _moment(asked, "until")
    if since is not None and until is not None and since >= until:
        raise _invalid("until", "The end must be after the beginning.")
    hook_ids = _several(look, asked)
    if len(hook_ids) > 1:
        by_repository = _by_repository(look, hook_ids)
    else:
        hook_id, repo_id = _of(look, {**asked, "hook": str(hook_ids[0]) if hook_ids else ""})
        by_repository = {repo_id: (hook_id, None)}
    return [
        ReplaySelection(
            since,
            until,
            repo_id,
            hook_id,
            asked["event"] or None,
            asked["status"] == "failed",
            several,
        )
        for repo_id, (hook_id, several) in by_repository.items()
    ]


Chosen = dict[int | None, tuple[int | None, tuple[int, ...] | None]]


def _by_repository(look: ViewContext, hook_ids: list[int]) -> Chosen:
    grouped: dict[int, list[int]] = {}
    for hook_id, repo_id in hooks.repository_ids(look.db, hook_ids):
        grouped.setdefault(repo_id, []).append(hook_id)
    if not grouped:
        raise Missing("hook")
    if len(grouped) > MOST_SELECTIONS:
        raise _invalid("hook", "The hooks belong to too many repositories. Choose one of these.")
    for repo_id in grouped:
        look.viewer.repository(look.db, repo_id)
    return {repo_id: (None, tuple(ids)) for repo_id, ids in grouped.items()}


def _of(look: ViewContext, asked: dict[str, str]) -> tuple[int | None, int | None]:
    """Return the hook and the repository of a selection.

    One of them is required unless the viewer may see all repositories.
    """
    repo_id = hook_id = None
    if asked["repository"]:
        owner, _, name = asked["repository"].partition("/")
        found = repositories.find(look.db, owner, name)
        if found is None:
            raise Missing("repository")
        repo_id = look.viewer.repository(look.db, found["id"])["id"]
    if asked["hook"]:
        hook, repo = look.viewer.hook(look.db, int(asked["hook"]))
        if repo is not None and repo_id not in (None, repo["id"]):
            raise _invalid("hook", f"Hook {hook['id']} belongs to {repo['full_name']}.")
        hook_id, repo_id = hook["id"], repo_id if repo is None else repo["id"]
    if repo_id is None and hook_id is None and look.repositories() is not None:
        raise _invalid("repository", "Choose a repository or a hook.")
    return hook_id, repo_id


def _several(look: ViewContext, asked: dict[str, str]) -> list[int]:
    """Return the ids of the hooks that a text names: ids, or a part of URLs. Empty for all hooks.

    Raises Missing or Forbidden if there is none.
    """
    text = asked["hook"]
    ids = [natural(part) for part in text.split(",")]
    if not text or None not in ids:
        return [one for one in ids if one is not None]
    repo_ids = look.repositories()
    if asked["repository"]:
        owner, _, name = asked["repository"].partition("/")
        repo = repositories.find(look.db, owner, name)
        repo_ids = [] if repo is None else [look.viewer.repository(look.db, repo["id"])["id"]]
    _, found = hooks_named(look, text, repo_ids)
    if not found:
        raise Missing("hook")
    return found


def _moment(asked: dict[str, str], name: str) -> int | None:
    if not asked[name]:
        return None
    at = moment_of(asked[name])
    if at is None:
        raise _invalid(name, f"{asked[name]!r} is not a time such as 2026-11-21T07:33.")
    return at


def _invalid(field: str, message: str) -> Invalid:
    return Invalid(message, field=field, code="custom", resource="Replay")


def describe(chosen: list[ReplaySelection], asked: dict[str, str]) -> str:
    """Describe selections in words."""
    first = chosen[0]
    what = f"{first.event} events" if first.event else "events"
    where = f" of {asked['repository']}" if asked["repository"] else ""
    where = f" of {len(chosen)} repositories" if len(chosen) > 1 else where
    several = sum(len(one.hook_ids or ()) for one in chosen)
    to = f" to hook {first.hook_id}" if first.hook_id else " to all hooks that are subscribed now"
    to = f" to {pluralize(several, 'hook')}" if several else to
    left_out = ", only failed deliveries" if first.failed else ""
    return f"{what}{where}{to}{left_out}"


@ui.live("/replay/count")
def continue_count(look: ViewContext, state: Any) -> tuple[Any, list[PanelUpdate]]:
    """Stream the count of a dry run, some thousand events at a time, to its end."""
    if state is None:
        state = Counted(*(look.asked_number(one.name) or 0 for one in fields(Counted)))
    chosen = selected(look, {name: look.asked(name, LONGEST) for name in FIELDS})
    if state.number >= len(chosen):
        return state, []
    state = state.go_on(look.db, chosen, COUNTED)
    values = {"counted": state.many, "more": state.number < len(chosen)}
    return state, [PanelUpdate("count", "_count.html", values)]


@ui.act("/replay/start")
def start_replay(look: ViewContext) -> ActionResult:
    """Start the replay."""
    asked = {name: look.form.get(name, "").strip()[:LONGEST] for name in FIELDS}
    chosen = selected(look, asked)
    for one in chosen:
        _check_change(look, one.repo_id, one.hook_id)
    runs = [replay_runs.create(look.db, one, look.viewer.name)["id"] for one in chosen]
    if len(runs) > 1:
        notice = f"The worker runs {len(runs)} replays, one for each repository."
        return ActionResult(f"{ROOT}/replay", notice, ids={"replays": runs})
    notice = "The worker runs the replay; this page may be closed."
    return ActionResult(f"{ROOT}/replay/{runs[0]}", notice, ids={"replay": runs[0]})


@ui.page("/replay/{run_id}", "replay_run.html")
def show_replay(look: ViewContext) -> dict[str, Any]:
    """Show the progress of a replay."""
    run = _found(look)
    return {"run": run_row(run), "may_change": _may_change(look, run)}


@ui.live("/replay/{run_id}/live")
def follow_replay(look: ViewContext, state: Any) -> tuple[Any, list[PanelUpdate]]:
    """Stream the progress of a replay."""
    run = _found(look)
    mark = (run["moves"], run["ended_at"])
    if mark == state:
        return state, []
    values = {"run": run_row(run), "may_change": _may_change(look, run)}
    return mark, [PanelUpdate("run", "_replay.html", values)]


@ui.act("/replay/{run_id}/cancel")
def cancel_replay(look: ViewContext) -> ActionResult:
    """Cancel a replay."""
    run = _found(look)
    _check_change(look, run["repo_id"], run["hook_id"])
    replay_runs.cancel(look.db, run["id"])
    notice = "Cancelled. Deliveries created until now are still sent."
    return ActionResult(f"{ROOT}/replay/{run['id']}", notice, ids={"replay": run["id"]})


def _found(look: ViewContext) -> Row:
    """Return the replay, if the viewer may see it. Raises Missing or Forbidden if not."""
    run = replay_runs.get(look.db, look.number("run_id"))
    if run["repo_id"] is not None:
        look.viewer.repository(look.db, run["repo_id"])
    elif look.repositories() is not None:
        if run["hook_id"] is None:
            raise Missing("replay")
        look.viewer.hook(look.db, run["hook_id"])
    return run


def _may_change(look: ViewContext, run: Row) -> bool:
    try:
        _check_change(look, run["repo_id"], run["hook_id"])
    except (HubError, Missing):
        return False
    return True


def _check_change(look: ViewContext, repo_id: int | None, hook_id: int | None) -> None:
    """Check that the viewer may replay the events of this repository, to this hook, or all.

    Raises Missing or Forbidden if not.
    """
    hook = None if hook_id is None else hooks.by_id(look.db, hook_id)
    if repo_id is not None:
        look.viewer.check_change_of(look.db, look.viewer.repository(look.db, repo_id))
    elif hook is None:
        look.viewer.check_change_all(look.db)
    if hook is not None and hook["repo_id"] is None:
        look.viewer.check_change(look.db, hook)


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
