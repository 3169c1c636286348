"""The selections that the replay form asks for."""

from hub.ui.datetime_fields import moment_of
from hub.ui.formatting import pluralize
from hub.ui.lists.filters import hooks_named
from hub.ui.view_context import ViewContext, natural
from store.delivery.replay_selection import ReplaySelection
from store.errors import Invalid, Missing
from store.hooks import hooks
from store.repositories import repositories

# The maximum of repositories to which the hooks of a form belong: each is a replay of its own.
MOST_SELECTIONS = 20


def selected(ctx: ViewContext, asked: dict[str, str]) -> list[ReplaySelection]:
    """Return the selections in a form: several if its hooks belong to several repositories.

    Raises Invalid, Missing or Forbidden if it is not valid.
    """
    since, until = _moment(asked, "since"), _moment(asked, "until")
    if since is not None and until is not None and since >= until:
        raise _invalid("until", "The end must be after the beginning.")
    hook_ids = _several(ctx, asked)
    if len(hook_ids) > 1:
        by_repository = _by_repository(ctx, hook_ids)
    else:
        hook_id, repo_id = _of(ctx, {**asked, "hook": str(hook_ids[0]) if hook_ids else ""})
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


def _by_repository(ctx: ViewContext, hook_ids: list[int]) -> Chosen:
    grouped: dict[int, list[int]] = {}
    for hook_id, repo_id in hooks.repository_ids(ctx.db, hook_ids):
        grouped.setdefault(repo_id, []).append(hook_id)
    if not grouped:
        raise Missing("hook")
    if len(grouped) > MOST_SELECTIONS:
        raise _invalid("hook", "The hooks belong to too many repositories. Choose one of these.")
    for repo_id in grouped:
        ctx.viewer.repository(ctx.db, repo_id)
    return {repo_id: (None, tuple(ids)) for repo_id, ids in grouped.items()}


def _of(ctx: ViewContext, asked: dict[str, str]) -> tuple[int | None, int | None]:
    """Return the hook and the repository of a selection.

    One of them is required unless the viewer may see all repositories.
    """
    repo_id = hook_id = None
    if asked["repository"]:
        owner, _, name = asked["repository"].partition("/")
        found = repositories.find(ctx.db, owner, name)
        if found is None:
            raise Missing("repository")
        repo_id = ctx.viewer.repository(ctx.db, found["id"])["id"]
    if asked["hook"]:
        hook, repo = ctx.viewer.hook(ctx.db, int(asked["hook"]))
        if repo is not None and repo_id not in (None, repo["id"]):
            raise _invalid("hook", f"Hook {hook['id']} belongs to {repo['full_name']}.")
        hook_id, repo_id = hook["id"], repo_id if repo is None else repo["id"]
    if repo_id is None and hook_id is None and ctx.repositories() is not None:
        raise _invalid("repository", "Choose a repository or a hook.")
    return hook_id, repo_id


def _several(ctx: ViewContext, asked: dict[str, str]) -> list[int]:
    """Return the ids of the hooks that a text names: ids, or a part of URLs. Empty for all hooks.

    Raises Missing or Forbidden if there is none.
    """
    text = asked["hook"]
    ids = [natural(part) for part in text.split(",")]
    if not text or None not in ids:
        return [one for one in ids if one is not None]
    repo_ids = ctx.repositories()
    if asked["repository"]:
        owner, _, name = asked["repository"].partition("/")
        repo = repositories.find(ctx.db, owner, name)
        repo_ids = [] if repo is None else [ctx.viewer.repository(ctx.db, repo["id"])["id"]]
    _, found = hooks_named(ctx, text, repo_ids)
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
