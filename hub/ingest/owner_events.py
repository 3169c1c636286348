"""The events that only owners or administrators may send with a token.

The hub signs all events. So somebody who may push to a repository must not send events of others,
which are for owners, nor events of what only an administrator of the repository can do.
"""

from typing import Any

from hub.auth import repository_access
from hub.auth.credentials import Caller
from hub.auth.repository_access import on_repo
from hub.http.errors import Forbidden, Rejected
from hub.ingest import event_envelope
from store import Connection, Row
from store.accounts import organizations
from store.hooks.event_names import EVENTS_IN_REPOSITORIES, OF_ADMINISTRATORS
from store.repositories import repository_names
from store.repositories.repository_names import RepositoryIdentity

ADMINISTER = on_repo(
    "administration", "write", role="admin", public_scopes=("public_repo",)
).refusing(
    "Only an administrator of the repository, or a source, may send events of its existence,"
    " access or settings, of security advisories, of deleted issues, and of rule suites."
)


def is_usual(repo: Row, name: str, payload: dict[str, Any]) -> bool:
    """Return whether everybody who may push may send this event. This looks nothing up."""
    fits = name in EVENTS_IN_REPOSITORIES and _other_name(repo, payload) is None
    return fits and not _is_of_administrators(name, payload)


def _is_of_administrators(name: str, payload: dict[str, Any]) -> bool:
    # The state forgets an issue by either event.
    forgets = name in ("issues", "pull_request") and payload.get("action") == "deleted"
    # Any event can report a rule suite, the record of who bypassed a rule.
    return name in OF_ADMINISTRATORS or forgets or "rule_suite" in payload


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
        self._refusals: dict[int, Forbidden | None] = {}

    def check(self, repo: Row, name: str, payload: dict[str, Any]) -> None:
        """Raise Forbidden or Rejected if the caller may not send this event.

        The error does not depend on whether the other repository exists.
        """
        if is_usual(repo, name, payload):
            return
        owns = self._is_owner(repo["owner_id"])
        if not owns and name not in EVENTS_IN_REPOSITORIES:
            raise Forbidden(
                f'"{name}" is an event of no repository. Only an owner of {repo["owner"]},'
                " a site administrator or a source may send it."
            )
        # An owner's token may have fewer rights than the owner.
        refusal = self._refusal(repo) if _is_of_administrators(name, payload) else None
        if refusal is not None:
            raise refusal
        if owns or _other_name(repo, payload) is None:
            return
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
        caller = self._caller.within(self._db, owner_id)
        if caller.installation_id is not None or caller.repositories is not None:
            return False
        if owner_id not in self._owns:
            role = organizations.role_of(self._db, {"id": owner_id}, caller.account)
            self._owns[owner_id] = role == "admin"
        return self._owns[owner_id]

    def _refusal(self, repo: Row) -> Forbidden | None:
        """Return the error if the caller is no administrator of the repository."""
        if repo["id"] not in self._refusals:
            self._refusals[repo["id"]] = None
            try:
                repository_access.check(self._db, ADMINISTER, self._caller, repo)
            except Forbidden as error:
                self._refusals[repo["id"]] = error
        return self._refusals[repo["id"]]

    def _identity(self, repo_id: int) -> RepositoryIdentity:
        if repo_id not in self._identities:
            self._identities[repo_id] = repository_names.identity(self._db, repo_id)
        return self._identities[repo_id]


def check(db: Connection, caller: Caller, repo: Row, name: str, payload: dict[str, Any]) -> None:
    """Check one event, as `OwnerEvents.check` does."""
    OwnerEvents(db, caller).check(repo, name, payload)
