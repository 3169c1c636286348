"""The access to topics: who may read which, and which events of a feed."""

from collections.abc import Iterable
from dataclasses import replace

from hub.auth import credentials, hook_rights, repository_access
from hub.auth.credentials import Caller
from hub.auth.repository_access import OnRepo, on_repo
from hub.auth.token_rights import suffices
from hub.rest.request import Request
from store import Connection, Row
from store.delivery.websub.websub_topics import FEEDS, PUBLIC_EVENTS
from store.errors import Missing
from store.hooks.app_events import PERMISSIONS
from store.repositories import repository_names

READ = on_repo("metadata", "read").or_anyone()
# The access to topics of events outside PUBLIC_EVENTS, which may reveal what only administrators
# of the repository may see.
ADMINISTER = hook_rights.READ


def check_visible(db: Connection, request: Request, key: str) -> tuple[Row, frozenset[str]]:
    """Return the repository of a topic, and the events that the caller may read in its feeds.

    Raises Unauthenticated, Missing or Forbidden if the caller may not read the topic.
    """
    token = credentials.token_of(request.headers)
    caller = None if token is None else credentials.authenticate(db, token)
    repo = repository_names.find(db, request.values["owner"], request.values["repo"])
    if repo is None:
        raise Missing("repository")
    needed = needed_for(key)
    if caller is None and not needed[0].anyone:
        # An anonymous client must not learn whether a private repository exists.
        repository_access.check(db, READ, None, repo)
        credentials.require(token)
    for each in needed:
        repository_access.check(db, each, caller, repo)
    return repo, readable_events(caller and caller.within(db, repo["owner_id"]), repo)


def needed_for(key: str) -> list[OnRepo]:
    """Return everything that a caller needs to read the topic with this key."""
    if key in FEEDS:
        return [_permitted(READ, PUBLIC_EVENTS)]
    if key in PUBLIC_EVENTS:
        return [_permitted(READ, [key])]
    # Events that no app can get have no permission of their own.
    return [ADMINISTER, *([_permitted(ADMINISTER, [key])] if key in PERMISSIONS else [])]


def readable_events(caller: Caller | None, repo: Row) -> frozenset[str]:
    """Return the public events that the caller may read in a repository's feeds.

    The events of a public repository are for everybody. In a private one, a token with permissions
    needs the permission of each event.
    """
    if caller is None or not repo["private"]:
        return PUBLIC_EVENTS
    return frozenset(
        event
        for event in PUBLIC_EVENTS
        if suffices(_permitted(READ, [event]).permissions, caller, READ.scopes)
    )


def _permitted(needed: OnRepo, events: Iterable[str]) -> OnRepo:
    """Return the access for tokens that may read what one of these events is about."""
    names = sorted({name for event in events for name in PERMISSIONS[event]})
    return replace(needed, permissions=tuple((name, "read") for name in names))
