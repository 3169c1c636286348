"""The dashboard's viewer, and the hooks that they may see: those that they may administer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hub.admin.administrators import LOOK, RUN
from hub.api.hooks.hook_access import OF_ORGANIZATION, TO_ORGANIZATION, creator_of
from hub.auth import repository_access, token_rights
from hub.auth.access import Access
from hub.auth.credentials import Caller
from hub.auth.hook_rights import READ, WRITE
from hub.auth.organization_access import OnOrg
from hub.auth.repository_access import OnRepo
from hub.http.errors import Forbidden
from hub.ui import visible_owners
from hub.ui.visible_owners import check_covers, may, passes
from store import Connection, Row
from store.accounts import accounts
from store.errors import Missing, existing
from store.hooks import hook_queries, hooks
from store.hooks.hook_targets import EVERYWHERE, MANY_OWNERS, HookTarget, target_of
from store.repositories import repositories

OPERATORS_ONLY = (
    "This page is for operators of the installation: site administrators with a token that has the"
    f" scope {LOOK[0]}."
)
LOOKS_ONLY = "A link only lets you view. Sign in with a token to make changes."


@dataclass(frozen=True, slots=True)
class DashboardViewer:
    """The viewer: a user with a token, whose scopes and permissions apply as in the API.

    Other viewers have the administrators' token, or a link to one hook.
    """

    caller: Caller | None = None
    operator: bool = False
    """Whether they may see the installation itself."""
    hook_id: int | None = None
    """The only hook that a link gives access to."""

    @property
    def name(self) -> str:
        """Return the name for the page's header."""
        if self.caller is not None:
            return self.caller.login
        return "administrator" if self.operator else "guest"

    @property
    def identity(self) -> str:
        """Return a text that no other viewer has, whichever token or link opened the session."""
        if self.caller is not None:
            return f"user{self.caller.account_id}"
        return "administrator" if self.operator else f"hook{self.hook_id}"

    @property
    def is_guest(self) -> bool:
        return self.hook_id is not None

    @property
    def is_app(self) -> bool:
        """Return whether an app has signed in. It must not learn from where its user signs in."""
        return self.caller is not None and self.caller.app_id is not None

    @property
    def is_unbound(self) -> bool:
        """Return whether they have the administrators' token, which has no scopes."""
        return self.operator and self.caller is None

    def repositories(self, db: Connection, *also: Access) -> list[int] | None:
        """Return the ids of repositories whose hooks they may see, at most 5,000; None for all.

        Repositories where the token cannot give the access of `also` are left out.
        """
        if self.is_unbound:
            return None
        return [] if self.caller is None else visible_owners.repositories(db, self.caller, *also)

    def hidden_owners(self, db: Connection) -> list[int]:
        """Return the organizations whose repositories are all that `repositories` leaves out.

        It is empty if `repositories` has another reason, or is None.
        """
        return [] if self.caller is None else visible_owners.hidden(db, self.caller)

    def organizations(self, db: Connection) -> list[int]:
        """Return the ids of organizations whose hooks they may see, beside `repositories`.

        For operators, EVERYWHERE is among them, for the hooks of the installation and of apps.
        """
        if self.caller is None:
            return []
        everywhere = self.operator and may(self.caller)
        found = visible_owners.organizations(db, self.caller)
        return [*found, *([EVERYWHERE] if everywhere else [])]

    def repository(self, db: Connection, repo_id: int) -> Row:
        """Return a repository whose hooks they may see. Raises Missing or Forbidden."""
        repo = existing(repositories.get(db, repo_id), "repository")
        if not self.is_unbound:
            repository_access.check(db, READ, self.caller, repo)
        return repo

    def left_of(self, db: Connection, repo_id: int, org_id: int = 0) -> Row | None:
        """Return a repository whose hooks they may see.

        If it does not exist any more, returns None to operators, who may see its remaining data,
        and data of the organization `org_id` without a repository. Raises Missing or Forbidden.
        While an owner is hidden, the data may be that owner's, so nobody sees it.
        """
        if not self.operator or repositories.get(db, repo_id) is not None:
            return self.repository(db, repo_id)
        self.check_token(READ)
        if repo_id and self.hidden_owners(db):
            raise Missing("repository")
        organization = accounts.get(db, org_id) if org_id else None
        if organization is not None and self.caller is not None:
            token_rights.check_sign_on(db, self.caller, org_id, organization["login"])
        return None

    def hook(self, db: Connection, hook_id: int) -> tuple[Row, Row | None]:
        """Return a hook that they may see, and its repository if it belongs to one.

        Raises Missing or Forbidden.
        """
        hook = hooks.by_id(db, hook_id)
        if hook is None or hook["deleted_at"] is not None:
            raise Missing("hook")
        if not self.is_guest:
            return hook, self._check(db, hook, READ, OF_ORGANIZATION)
        if self.hook_id != hook_id:
            raise Missing("hook")
        return hook, None if hook["repo_id"] is None else repositories.get(db, hook["repo_id"])

    def may_see(self, db: Connection, hook_id: int) -> bool:
        """Return whether there is a hook with this id that they may see."""
        return passes(self.hook, db, hook_id)

    @property
    def sees_repositories(self) -> bool:
        """Return whether their token can give access to hooks and events of repositories."""
        return self.is_covered(READ)

    @property
    def sees_organizations(self) -> bool:
        """Return whether their token can give access to hooks of organizations."""
        return self.is_unbound or (self.caller is not None and may(self.caller, OF_ORGANIZATION))

    def opens(self, hook_id: int, organization: object = None, gone: int = 0) -> bool:
        """Return whether they may open the page of a hook in a list that they see.

        `organization` is set if the hook belongs to one. Without a scope for organizations, a list
        of all hooks has their hooks too. A subscription has a negative id and no page.
        """
        return hook_id > 0 and not gone and self.opens_attempt(hook_id, organization)

    def opens_attempt(self, hook_id: int, organization: object = None, gone: int = 0) -> bool:
        """Return whether they may open the page of an attempt in a list that they see.

        The attempts of subscriptions and of deleted hooks have pages for operators alone.
        """
        if hook_id < 0 or gone:
            return self.operator
        return not organization or self.sees_organizations

    def may_see_event(self, db: Connection, repo_id: int, org_id: int = 0) -> bool:
        return passes(self.left_of, db, repo_id, org_id)

    def _check(
        self, db: Connection, hook: Row, of_repository: OnRepo, of_organization: OnOrg
    ) -> Row | None:
        """Check the access to a hook's target, and return the target if it is a repository.

        Raises Missing or Forbidden.
        """
        target = target_of(hook)
        if target.kind == "repository":
            repo = existing(repositories.get(db, target.id), "repository")
            if not self.is_unbound:
                repository_access.check(db, of_repository, self.caller, repo)
            return repo
        if target.kind in MANY_OWNERS:
            if not self.operator:
                raise Missing("hook")
            self.check_token(of_repository)
        elif not self.is_unbound:
            organization = accounts.get(db, target.id)
            if organization is None or self.caller is None:
                raise Missing("hook")
            if creator_of(self.caller) not in (None, hook["oauth_app_id"]):
                raise Missing("hook")
            of_organization.see(db, self.caller, organization)
        return None

    def check_token(self, wanted: Access) -> None:
        """Check that the token can give this access to anything. Raises Forbidden if not."""
        if self.caller is not None:
            check_covers(self.caller, wanted)

    def is_covered(self, wanted: Access) -> bool:
        """Return whether their token can give this access to anything."""
        return passes(self.check_token, wanted)

    def may_change(self, db: Connection, hook: Row) -> bool:
        return passes(self.check_change, db, hook)

    def changeable(self, db: Connection, hook_ids: Iterable[int]) -> list[int]:
        return _permitted(db, hook_ids, self.may_change)

    def visible(self, db: Connection, hook_ids: Iterable[int]) -> list[int]:
        """Return which of these hooks they may see. They are no guest."""
        return _permitted(
            db, hook_ids, lambda *hook: passes(self._check, *hook, READ, OF_ORGANIZATION)
        )

    def check_change(self, db: Connection, hook: Row) -> None:
        """Check that they may change a hook. Raises Missing or Forbidden if not."""
        if self.is_guest:
            raise Forbidden(LOOKS_ONLY)
        self._check(db, hook, WRITE, TO_ORGANIZATION)

    def check_change_of(self, db: Connection, target: HookTarget) -> None:
        """Check that they may change a target's hooks, and create some.

        Raises Missing or Forbidden if not.
        """
        self.check_change(db, {**target.columns, "oauth_app_id": creator_of(self.caller)})

    def check_change_all(self, db: Connection) -> None:
        """Check that they may change the hooks of all repositories.

        Raises Missing or Forbidden if not.
        """
        if self.repositories(db) is not None:
            raise Missing("repository")
        self.check_token(WRITE)

    def check_change_any(self) -> None:
        """Check that their token can give the right to change some hooks, of repositories or of
        organizations. Raises Forbidden if not.
        """
        if self.is_guest:
            raise Forbidden(LOOKS_ONLY)
        if not self.may_change_organizations:
            self.check_token(WRITE)

    @property
    def may_change_organizations(self) -> bool:
        """Return whether they can have the right to change hooks of some organizations."""
        return self.is_unbound or (self.caller is not None and may(self.caller, TO_ORGANIZATION))

    @property
    def may_change_any(self) -> bool:
        """Return whether their token can give the right to change some hooks."""
        return passes(self.check_change_any)

    @property
    def may_run(self) -> bool:
        return self.operator and (self.caller is None or token_rights.covers(self.caller, RUN))

    def check_run(self, what: str = "This") -> None:
        """Check that they may operate the installation. Raises Forbidden if not."""
        if not self.may_run:
            raise Forbidden(f"{what} requires a token with the scope {RUN[0]}.")


def _permitted(
    db: Connection, hook_ids: Iterable[int], may: Callable[[Connection, Row], bool]
) -> list[int]:
    """Return the hooks for which `may` says so.

    Hooks of the same target and creator share the rights, which are checked once.
    """
    rights: dict[tuple[HookTarget, int | None], bool] = {}
    found = []
    for hook in hook_queries.by_ids(db, hook_ids):
        key = target_of(hook), hook["oauth_app_id"]
        if key not in rights:
            rights[key] = may(db, hook)
        if rights[key] and hook["deleted_at"] is None:
            found.append(hook["id"])
    return found
