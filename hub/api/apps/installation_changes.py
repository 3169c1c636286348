"""Changes of installations, with the events that report them to the app.

The app's hook gets these events whether it is subscribed to them or not. Hooks of the whole server
get them if they are subscribed.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from hub.api.apps import app_serializers
from hub.rest.context import Context
from hub.rest.serializers import node_id
from store import Row
from store.apps import app_hooks, installation_repositories, installations
from store.errors import Missing
from store.repositories import repositories

EMITS = (
    "installation.created",
    "installation.deleted",
    "installation.suspend",
    "installation.unsuspend",
    "installation.new_permissions_accepted",
    "installation_repositories.added",
    "installation_repositories.removed",
)


def install(
    ctx: Context,
    app: Row,
    account: Row,
    *,
    accepted: Mapping[str, str] | None = None,
    chosen: Iterable[int] | None = None,
) -> Row:
    """Install an app as `installations.create` does."""
    made = installations.create(ctx.db, app, account, accepted=accepted, repositories=chosen)
    _emit(ctx, "installation.created", made, **_covered(ctx, made))
    return made


def accept(ctx: Context, installation: Row, app: Row, accepted: Mapping[str, str] | None) -> bool:
    """Accept the app's present permissions and events as `installations.accept` does."""
    changed = installations.accept(ctx.db, installation, app, accepted)
    if changed:
        after = installations.required(ctx.db, installation["id"])
        _emit(ctx, "installation.new_permissions_accepted", after, **_covered(ctx, after))
    return changed


def choose(ctx: Context, installation: Row, chosen: Iterable[int] | None) -> bool:
    """Choose the repositories of an installation as `installation_repositories.choose` does."""
    before = installation_repositories.covered_ids(ctx.db, installation)
    changed = installation_repositories.choose(ctx.db, installation, chosen)
    if changed:
        after = installations.required(ctx.db, installation["id"])
        covered = installation_repositories.covered_ids(ctx.db, after)
        _emit_chosen(ctx, "added", after, covered - before)
        _emit_chosen(ctx, "removed", after, before - covered)
    return changed


def lose(ctx: Context, repo: Row) -> None:
    """Remove a repository from the installations that chose it, with an event for each.

    Must be called while the repository still exists.
    """
    for installation in installations.with_chosen(ctx.db, repo["id"]):
        _emit_chosen(ctx, "removed", installation, {repo["id"]})
    installation_repositories.forget(ctx.db, repo["id"])


def _emit_chosen(ctx: Context, action: str, installation: Row, repo_ids: set[int]) -> None:
    if repo_ids:
        members: dict[str, Any] = {"repositories_added": [], "repositories_removed": []}
        members[f"repositories_{action}"] = _repositories(ctx, repo_ids)
        every = installation["every_repository"]
        _emit(
            ctx,
            f"installation_repositories.{action}",
            installation,
            repository_selection=app_serializers.selection(every),
            **members,
        )


def suspend(ctx: Context, installation: Row, by: int | None = None) -> bool:
    """Suspend an installation. Return False if it is suspended already."""
    changed = installations.suspend(ctx.db, installation, by)
    if changed:
        _emit_present(ctx, "installation.suspend", installation)
    return changed


def unsuspend(ctx: Context, installation: Row) -> bool:
    """End an installation's suspension. Return False if it is not suspended."""
    changed = installations.unsuspend(ctx.db, installation)
    if changed:
        _emit_present(ctx, "installation.unsuspend", installation)
    return changed


def remove(ctx: Context, installation: Row) -> None:
    """Delete an installation and its tokens. Raises Missing if it is gone."""
    covered = _covered(ctx, installation)
    shown = app_serializers.installation(ctx.urls, ctx.db, installation)
    installations.remove(ctx.db, installation)
    _emit_serialized(ctx, "installation.deleted", installation["app_id"], shown, **covered)


def remove_all(ctx: Context, account_id: int) -> None:
    for installation in installations.of_account(ctx.db, account_id):
        # Another hub may be deleting some of them.
        with suppress(Missing):
            remove(ctx, installation)


def _emit_present(ctx: Context, event: str, installation: Row) -> None:
    after = installations.required(ctx.db, installation["id"])
    _emit(ctx, event, after, **_covered(ctx, after))


def _emit(ctx: Context, event: str, installation: Row, **members: Any) -> None:
    shown = app_serializers.installation(ctx.urls, ctx.db, installation)
    _emit_serialized(ctx, event, installation["app_id"], shown, **members)


def _emit_serialized(
    ctx: Context,
    event: str,
    app_id: int,
    shown: app_serializers.Installation,
    **members: Any,
) -> None:
    also = app_hooks.receiving(ctx.db, app_id)
    if ctx.caller is None:
        # Receivers expect a sender.
        members["sender"] = shown["account"]
    ctx.emit(event, None, also_hook=also, installation=shown, requester=None, **members)


def _covered(ctx: Context, installation: Row) -> dict[str, Any]:
    return {
        "repositories": _repositories(
            ctx, installation_repositories.covered_ids(ctx.db, installation)
        )
    }


def _repositories(ctx: Context, repo_ids: set[int]) -> Sequence[dict[str, Any]]:
    found = repositories.of(ctx.db, repo_ids)
    return [
        {
            "id": row["id"],
            "node_id": node_id("Repository", row["id"]),
            "name": row["name"],
            "full_name": row["full_name"],
            "private": bool(row["private"]),
        }
        for _, row in sorted(found.items())
    ]
