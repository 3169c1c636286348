"""The right to start and to cancel a replay."""

from collections.abc import Iterable

from hub.ui.view_context import ViewContext
from hub.ui.visible_owners import passes
from store.delivery.replays.replay_selection import ReplaySelection
from store.hooks import hooks
from store.hooks.hook_targets import repository


def may_start(ctx: ViewContext, chosen: Iterable[ReplaySelection]) -> bool:
    return passes(check_start, ctx, chosen)


def check_start(ctx: ViewContext, chosen: Iterable[ReplaySelection]) -> None:
    """Check that the viewer may replay these selections. Raises Missing or Forbidden if not."""
    for one in chosen:
        _check_change(ctx, one.repo_id, one.hook_id)


def _check_change(ctx: ViewContext, repo_id: int | None, hook_id: int | None) -> None:
    """Check that the viewer may replay the events of this repository, to this hook, or all."""
    hook = None if hook_id is None else hooks.by_id(ctx.db, hook_id)
    if repo_id is not None:
        ctx.viewer.check_change_of(ctx.db, repository(repo_id))
    elif hook is None:
        ctx.viewer.check_change_all(ctx.db)
    if hook is not None and hook["repo_id"] is None:
        ctx.viewer.check_change(ctx.db, hook)
