"""The API's context for commands: they change hooks as the API does, with its checks and events."""

import asyncio
from typing import Any

from hub.auth.credentials import Caller
from hub.cli.service.configuration import Settings
from hub.cli.traffic.endpoint_options import DEFAULT
from hub.ingest.hook_events import EMITS
from hub.rest.context import Context
from hub.rest.urls import Urls
from hub.rest.vocabulary import Vocabulary
from store import Connection, Row
from store.accounts import accounts, apps
from store.errors import Invalid
from store.hooks import pull_urls
from store.hooks.hook_targets import HookTarget, target_of
from store.repositories import repositories
from worker.http.callback_guard import CallbackGuard, running_guard


def for_hook(db: Connection, settings: Settings, hook: Row) -> Context:
    """Return an API context for a command that changes a hook.

    The owner of the hook's target is the sender of its events, because receivers expect an account.
    If the hook is of the whole installation, the events have no sender.
    """
    target = target_of(hook)
    if target.kind == "repository":
        repo = repositories.get(db, target.id)
        assert repo is not None, "its hooks are deleted with it"
        return make(db, settings, repo)
    if target.kind == "system":
        return _context(db, settings, None)
    owner = accounts.required(db, _owner_id(db, target))
    return _context(db, settings, _caller(owner["id"], owner["login"]))


def for_account(
    db: Connection, settings: Settings, account: Row, emits: tuple[str, ...]
) -> Context:
    """Return an API context for a command. The account is the sender of its events."""
    return _context(db, settings, _caller(account["id"], account["login"]), emits)


def _owner_id(db: Connection, target: HookTarget) -> int:
    app = apps.get(db, target.id) if target.kind == "app" else None
    return target.id if app is None else int(app["owner_id"])


def make(db: Connection, settings: Settings, repo: Row) -> Context:
    """Return an API context for a command. The repository's owner is the sender of its events."""
    return _context(db, settings, _caller(repo["owner_id"], repo["owner"]))


def _caller(account_id: int, login: str) -> Caller:
    return Caller(
        account_id,
        login,
        site_admin=True,
        kind="command",
        scopes=frozenset(),
        permissions={},
    )


def _context(
    db: Connection, settings: Settings, caller: Caller | None, emits: tuple[str, ...] = EMITS
) -> Context:
    root = settings.root()
    return Context(
        db,
        Urls(root),
        caller,
        emits,
        words=Vocabulary(settings.vocabulary, root),
        hooks_per_event=settings.hooks_per_event,
    )


def validate_token_url(settings: Settings, given: dict[str, Any]) -> None:
    """Check that hooks may request access tokens at the `token_url` of the given options.

    Raises Invalid with the reason if not.
    """
    url = (given.get("oauth2") or {}).get("token_url", DEFAULT)
    if url == DEFAULT:
        return
    try:
        validate_callback(settings, url)
    except Invalid as error:
        raise Invalid(f"oauth2: token_url: {error}") from None


def validate_callback(settings: Settings, url: str) -> None:
    """Check that hooks may deliver to this URL. Raises Invalid with the reason if not."""
    if pull_urls.is_pull(url):
        pull_urls.check(url)
        return
    with running_guard(settings) as guard:
        asyncio.run(CallbackGuard(guard)(url))
