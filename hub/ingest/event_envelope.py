"""Parsing of an incoming event: its headers, its payload, and the fields stored beside it."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from hub.http.errors import Malformed, Rejected
from store.database import uuid7
from store.delivery.incoming import IncomingEvent
from store.hooks.event_names import PLATFORM_EVENTS

# The senders' own names come first: forges send GitHub's headers beside their own.
PREFIXES = (b"x-service-", b"x-forgejo-", b"x-gitea-", b"x-gogs-", b"x-github-")
EVENT_HEADERS = tuple(prefix + b"event" for prefix in PREFIXES)
ID_HEADERS = (*(prefix + b"delivery" for prefix in PREFIXES), b"idempotency-key")
GUID = re.compile(r"[!-~]{1,128}")
NAME = re.compile(r"[a-z0-9_]{1,64}")
MAX_ACTION = 100
MAX_INTEGER = 2**63


def first(headers: Mapping[bytes, bytes], names: tuple[bytes, ...]) -> str | None:
    """Return the first of these headers that is present, or None."""
    for name in names:
        value = headers.get(name)
        if value is not None:
            return value.decode("latin-1")
    return None


def guid_of(headers: Mapping[bytes, bytes]) -> str:
    """Return the delivery id from the headers, or a new one if there is none.

    Raises Malformed if it is not valid.
    """
    given = first(headers, ID_HEADERS)
    return uuid7.new() if given is None else checked_guid(given)


def checked_guid(given: str) -> str:
    """Return the delivery id. Raises Malformed unless it is 1 to 128 visible ASCII characters."""
    if not GUID.fullmatch(given):
        raise Malformed("a delivery id must be 1 to 128 visible ASCII characters")
    return given


def platform_event(name: str) -> str:
    """Return the name if it is an event of the platform. Raises Rejected for any other."""
    if name not in PLATFORM_EVENTS:
        raise Rejected(f'Invalid event: "{name[:100]}"')
    return name


def any_event(name: str) -> str:
    """Return the name if it is well-formed: forges have events of their own.

    Raises Rejected if not.
    """
    if not NAME.fullmatch(name):
        raise Rejected(f'Invalid event: "{name[:100]}"')
    return name


def repository_of(payload: dict[str, Any]) -> str | None:
    """Return the `owner/name` of the payload's repository, or None."""
    repository = payload.get("repository")
    name = repository.get("full_name") if isinstance(repository, dict) else None
    return name if isinstance(name, str) else None


def organization_of(payload: dict[str, Any], full_name: str | None = None) -> str | None:
    """Return the login of the payload's organization or of its repository's owner, or None.

    `full_name` is the repository, if that is already known.
    """
    organization = payload.get("organization")
    login = organization.get("login") if isinstance(organization, dict) else None
    if isinstance(login, str):
        return login
    owner, slash, _ = (full_name or repository_of(payload) or "").partition("/")
    return owner if slash else None


class EventOrigin(NamedTuple):
    """The repository of an event, or else its organization, and the source that signed it.

    Ids are 0 if there is none. `token_id` is the token that posted it, or None.
    """

    repo_id: int
    source_id: int = 0
    org_id: int = 0
    token_id: int | None = None

    @property
    def scope(self) -> int:
        """Return the scope in which the event's id is unique.

        It is the negative id of the source or, for an event with a token, the repository's id.
        """
        return -self.source_id or self.repo_id


def arrival(
    origin: EventOrigin, guid: str, name: str, body: bytes, payload: dict[str, Any]
) -> IncomingEvent:
    """Return the event in the form that the store accepts."""
    return IncomingEvent(
        origin.scope,
        guid,
        origin.repo_id,
        name,
        body,
        action=action_of(payload),
        source_id=origin.source_id,
        installation_id=_installation(payload),
        org_id=origin.org_id,
        token_id=origin.token_id,
    )


def action_of(payload: dict[str, Any]) -> str | None:
    """Return the payload's action, or None if it has none that can be a part of an event's name."""
    action = payload.get("action")
    known = isinstance(action, str) and len(action) <= MAX_ACTION and action.isprintable()
    return action if known else None


def _installation(payload: dict[str, Any]) -> int | None:
    installation = payload.get("installation")
    number = installation.get("id") if isinstance(installation, dict) else None
    # bool is a subclass of int, but no id.
    return number if type(number) is int and 0 <= number < MAX_INTEGER else None
