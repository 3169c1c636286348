"""The events that only owners may send with a token: of no repository, or of another one.

The hub signs all events for the hooks of the organization. So somebody who may push to one
repository must not send events of the others.
"""

from typing import Any

from hub.auth.credentials import Caller
from hub.http.errors import Forbidden, Rejected
from hub.ingest import event_envelope
from store import Connection, Row
from store.accounts import organizations
from store.hooks.event_names import EVENTS_IN_REPOSITORIES
from store.repositories import repository_names
from store.repositories.repository_names import RepositoryIdentity


def is_usual(repo: Row, name: str, payload: dict[str, Any]) -> bool:
    """Return whether everybody who may push may send this event. This looks nothing up."""
    return name in EVENTS_IN_REPOSITORIES and _other_name(repo, payload) is None


def _other_name(repo: Row, payload: dict[str, Any]) -> str | None:
    """Return the name, in lower case, of another repository of the same owner in the payload.

    Names of other owners are accepted, as examples have them.
    """
    full_name = event_envelope.repository_of(payload) or ""
    owner, slash, name = full_name.lower().partition("/")
    same = not slash or owner != repo["owner"].lower() or name == repo["name"].lower()
    return None if same else name


class OwnerEvents:
    """Checks which events a caller may send. It looks up each repository and owner once."""

    def __init__(self, db: Connection, caller: Caller) -> None:
        self._db = db
        self._caller = caller
        self._owns: dict[int, bool] = {}
        self._identities: dict[int, RepositoryIdentity] = {}

    def check(self, repo: Row, name: str, payload: dict[str, Any]) -> None:
        """Raise Forbidden or Rejected if only an owner may send this event.

        The error does not depend on whether the other repository exists.
        """
        if is_usual(repo, name, payload) or self._is_owner(repo["owner_id"]):
            return
        if name not in EVENTS_IN_REPOSITORIES:
            raise Forbidden(
                f'"{name}" is an event of no repository. Only an owner of {repo["owner"]},'
                " a site administrator or a source may send it."
            )
        reported = repository_names.read(payload)
        if reported is None or not self._identity(repo["id"]).fits(reported):
            raise Rejected(
                f"repository.full_name is not {repo['full_name']}. Only an owner of"
                f" {repo['owner']}, a site administrator or a source may send events that name"
                " another repository of this owner."
            )

    def _is_owner(self, owner_id: int) -> bool:
        """Return whether the caller acts as an owner of this account.

        Installations, and tokens for selected repositories, are limited to repositories.
        """
        if self._caller.installation_id is not None or self._caller.repositories is not None:
            return False
        if owner_id not in self._owns:
            role = organizations.role_of(self._db, {"id": owner_id}, self._caller.account)
            self._owns[owner_id] = role == "admin"
        return self._owns[owner_id]

    def _identity(self, repo_id: int) -> RepositoryIdentity:
        if repo_id not in self._identities:
            self._identities[repo_id] = repository_names.identity(self._db, repo_id)
        return self._identities[repo_id]


def check(db: Connection, caller: Caller, repo: Row, name: str, payload: dict[str, Any]) -> None:
    """Check one event, as `OwnerEvents.check` does."""
    OwnerEvents(db, caller).check(repo, name, payload)
