"""The API's context for commands: they change hooks as the API does, with its checks and events."""

import asyncio

from hub.auth.credentials import Caller
from hub.cli.service.configuration import Settings
from hub.ingest.hook_events import EMITS
from hub.rest.context import Context
from hub.rest.urls import Urls
from hub.rest.vocabulary import Vocabulary
from store import Connection, Row
from store.repositories import repositories
from worker.service import CallbackGuard, make_guard


def repository_of(db: Connection, hook: Row) -> Row:
    """Return the repository of a hook."""
    repo = repositories.get(db, hook["repo_id"])
    assert repo is not None, "its hooks are deleted with it"
    return repo


def make(db: Connection, settings: Settings, repo: Row) -> Context:
    """Return an API context for a command.

    The repository's owner is the sender of its events, because receivers expect an account.
    """
    root = settings.root()
    caller = Caller(
        repo["owner_id"],
        repo["owner"],
        site_admin=True,
        kind="command",
        scopes=frozenset(),
        permissions={},
    )
    return Context(
        db,
        Urls(root),
        caller,
        EMITS,
        words=Vocabulary(settings.vocabulary, root),
        hooks_per_event=settings.hooks_per_event,
    )


def validate_callback(settings: Settings, url: str) -> None:
    """Check that hooks may deliver to this URL. Raises Invalid with the reason if not."""
    guard = make_guard(settings)
    try:
        asyncio.run(CallbackGuard(guard)(url))
    finally:
        guard.close()
