"""The selections that the replay form asks for."""

from hub.ui.datetime_fields import moment_of
from hub.ui.formatting import pluralize
from hub.ui.lists.filters import hooks_named, organizations
from hub.ui.view_context import ViewContext, natural
from store.delivery import subscribers
from store.delivery.replays.replay_selection import ReplaySelection
from store.errors import Invalid, Missing, existing
from store.hooks import hook_queries, hooks
from store.hooks.event_names import HUB_EVENTS, PLATFORM_EVENTS
from store.repositories import repositories

# The maximum of repositories to which the hooks of a form belong: each is a replay of its own.
MOST_SELECTIONS = 20
# The maximum of hooks that a form may name.
MOST_HOOKS = 500
# The characters of a field, so that it holds the ids of so many hooks.
LONGEST = 20 * MOST_HOOKS
FAILED = "failed"
EVENTS = PLATFORM_EVENTS | HUB_EVENTS


def selected(ctx: ViewContext, asked: dict[str, str]) -> list[ReplaySelection]:
    """Return the selections in a form: several if its hooks belong to several repositories.

    Raises Invalid, Missing or Forbidden if it is not valid.
    """
    _check_words(asked)
    since, until = _moment(asked, "since"), _moment(asked, "until")
    if since is not None and until is not None and since >= until:
        raise _invalid("until", "The end must be after the beginning.")
    hook_ids = _several(ctx, asked)
    if len(hook_ids) > 1:
        places = _places(ctx, hook_ids)
    else:
        hook_id, repo_id = _of(ctx, {**asked, "hook": str(hook_ids[0]) if hook_ids else ""})
        places = [(repo_id, hook_id, _receivers(ctx, repo_id, hook_id))]
    return [
        ReplaySelection(
            since,
            until,
            repo_id,
            hook_id,
            asked["event"] or None,
            asked["status"] == FAILED,
            several,
        )
        for repo_id, hook_id, several in places
    ]


def _check_words(asked: dict[str, str]) -> None:
    """Raise Invalid for a status or an event that the form does not have."""
    if asked["status"] not in ("", FAILED):
        raise _invalid("status", "The status is failed, or empty.")
    name, dot, action = asked["event"].partition(".")
    if asked["event"] and (name not in EVENTS or (dot and not action)):
        raise _invalid("event", f"There is no event {asked['event'][:100]!r}.")
    if name == "ping":
        raise _invalid("event", "Pings are not replayed. A button on a hook's page sends one.")


Places = list[tuple[int | None, int | None, tuple[int, ...] | None]]


def _places(ctx: ViewContext, hook_ids: list[int]) -> Places:
    """Return the repository of each selection, and its hook or hooks.

    A hook without a repository has a selection of its own.
    """
    grouped: dict[int, list[int]] = {}
    for hook_id, repo_id in hook_queries.repository_ids(ctx.db, hook_ids):
        grouped.setdefault(repo_id, []).append(hook_id)
    in_repositories = {one for ids in grouped.values() for one in ids}
    others = [one for one in hook_ids if one not in in_repositories]
    for hook_id in others:
        _check_hook(ctx, hook_id)
    if len(grouped) + len(others) > MOST_SELECTIONS:
        raise _invalid("hook", "The hooks belong to too many repositories. Choose one of these.")
    for repo_id in grouped:
        ctx.viewer.repository(ctx.db, repo_id)
    places: Places = [(repo_id, None, tuple(ids)) for repo_id, ids in grouped.items()]
    return places + [(None, hook_id, None) for hook_id in others]


def _check_hook(ctx: ViewContext, hook_id: int) -> None:
    """Raise Invalid if the viewer may not see this hook, or if there is none."""
    if not ctx.viewer.may_see(ctx.db, hook_id):
        raise _invalid("hook", f"There is no hook {hook_id}, or you may not see it.")


def _of(ctx: ViewContext, asked: dict[str, str]) -> tuple[int | None, int | None]:
    """Return the hook and the repository of a selection.

    One of them is required unless the viewer may see all repositories.
    """
    repo_id = hook_id = None
    if asked["repository"]:
        owner, _, name = asked["repository"].partition("/")
        found = existing(repositories.find(ctx.db, owner, name), "repository")
        repo_id = ctx.viewer.repository(ctx.db, found["id"])["id"]
    if asked["hook"]:
        hook, repo = ctx.viewer.hook(ctx.db, int(asked["hook"]))
        if repo is not None and repo_id not in (None, repo["id"]):
            raise _invalid("hook", f"Hook {hook['id']} belongs to {repo['full_name']}.")
        hook_id, repo_id = hook["id"], repo_id if repo is None else repo["id"]
    if repo_id is None and hook_id is None and ctx.repositories() is not None:
        raise _invalid("repository", "Choose a repository or a hook.")
    return hook_id, repo_id


def _receivers(
    ctx: ViewContext, repo_id: int | None, hook_id: int | None
) -> tuple[int, ...] | None:
    """Return the hooks that get a replay of a repository which names no hook; None for all.

    Others than the repository's own hooks get it only if the viewer may change them.
    """
    if repo_id is None or hook_id is not None or ctx.repositories() is None:
        return None
    own, others = subscribers.hook_ids(ctx.db, repo_id)
    return (*own, *ctx.viewer.changeable(ctx.db, others))


def _several(ctx: ViewContext, asked: dict[str, str]) -> list[int]:
    """Return the ids of the hooks that a text names: ids, or a part of URLs. Empty for all hooks.

    Raises Missing or Forbidden if there is none, and Invalid if there are too many.
    """
    text = asked["hook"]
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > MOST_HOOKS or len(text) >= LONGEST:
        raise _invalid("hook", f"Name at most {MOST_HOOKS} hooks.")
    ids = dict.fromkeys(map(natural, parts))
    if not text or None not in ids:
        return [one for one in ids if one is not None]
    repo_ids = ctx.repositories()
    if asked["repository"]:
        owner, _, name = asked["repository"].partition("/")
        repo = repositories.find(ctx.db, owner, name)
        repo_ids = [] if repo is None else [ctx.viewer.repository(ctx.db, repo["id"])["id"]]
    org_ids = organizations(ctx, asked["repository"])
    _, found = hooks_named(ctx, text, repo_ids, org_ids)
    rows = [hooks.by_id(ctx.db, hook_id) for hook_id in found or ()]
    # A search also finds hooks that were deleted.
    chosen = [row["id"] for row in rows if row is not None and row["deleted_at"] is None]
    if not chosen:
        raise Missing("hook")
    return chosen


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
    first = chosen[0]
    what = f"{first.event} events" if first.event else "events"
    where = f" of {asked['repository']}" if asked["repository"] else ""
    inside = sum(one.repo_id is not None for one in chosen)
    where = f" of {inside} repositories" if inside > 1 else where
    left_out = ", only failed deliveries" if first.failed else ""
    return f"{what}{where}{_receivers_in_words(chosen)}{left_out}"


def _receivers_in_words(chosen: list[ReplaySelection]) -> str:
    first = chosen[0]
    if first.hook_id and len(chosen) == 1:
        return f" to hook {first.hook_id}"
    if first.hook_id is None and first.hook_ids is None:
        return " to all hooks that are subscribed now"
    many = sum(1 if one.hook_ids is None else len(one.hook_ids) for one in chosen)
    return f" to {pluralize(many, 'hook')}"
