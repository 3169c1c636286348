"""Who looks at the dashboard, and what they see of it: what they may administer."""

from dataclasses import dataclass

from hub import access
from hub.access import OnRepo
from hub.auth import Caller
from hub.errors import Forbidden, HubError
from hub.operations.hooks import READ, WRITE
from store import Connection, Row, administered, hooks, repositories
from store.errors import Missing

LOOKS_ONLY = "A link lets you look, and change nothing. Sign in with a token for that."


@dataclass(frozen=True, slots=True)
class Viewer:
    """A token's user; or who has the administrators' token, or a link to one hook."""

    caller: Caller | None = None
    operator: bool = False
    """Whether they see all there is, and the installation itself."""
    hook_id: int | None = None
    """The one hook that there is for them."""

    @property
    def name(self) -> str:
        """As the page's head says it."""
        if self.caller is not None:
            return self.caller.login
        return "administrator" if self.operator else "guest"

    @property
    def is_guest(self) -> bool:
        return self.hook_id is not None

    def repositories(self, db: Connection) -> list[int] | None:
        """The ids of those whose hooks they may see, at most 5,000; None: all there are."""
        if self.operator:
            return None
        caller = self.caller
        if caller is None or not may(caller):
            return []
        if caller.site_admin and caller.target_id is None and caller.repositories is None:
            return None
        rows = administered.repositories(db, caller.account_id, caller.token_id, caller.target_id)
        return [row["id"] for row in rows if caller.reaches(row)]

    def repository(self, db: Connection, repo_id: int) -> Row:
        """A repository whose hooks they may see. Missing, Forbidden."""
        repo = repositories.get(db, repo_id)
        if repo is None:
            raise Missing("repository")
        if not self.operator:
            access.check(db, READ, self.caller, repo)
        return repo

    def hook(self, db: Connection, hook_id: int) -> tuple[Row, Row]:
        """A hook that they may see, and its repository. Missing, Forbidden."""
        hook = hooks.by_id(db, hook_id)
        if hook is None or hook["deleted_at"] is not None:
            raise Missing("hook")
        if self.is_guest:
            repo = repositories.get(db, hook["repo_id"])
            if self.hook_id != hook_id or repo is None:
                raise Missing("hook")
            return hook, repo
        return hook, self.repository(db, hook["repo_id"])

    def check_token(self, wanted: OnRepo) -> None:
        """Forbidden for a token that is not for this, in whatever repository."""
        if self.caller is not None and not self.operator:
            access.check_kind(wanted.kinds, self.caller)
            access.check_token(wanted, self.caller, wanted.scopes)

    def may_change(self, db: Connection, repo: Row) -> bool:
        """Whether they may change the repository's hooks."""
        try:
            self.check_change(db, repo)
        except (HubError, Missing):
            return False
        return True

    def check_change(self, db: Connection, repo: Row) -> None:
        """Missing, Forbidden, for who may not."""
        if self.is_guest:
            raise Forbidden(LOOKS_ONLY)
        if not self.operator:
            access.check(db, WRITE, self.caller, repo)


def may(caller: Caller) -> bool:
    """Whether a token can see any hooks, wherever."""
    try:
        access.check_kind(READ.kinds, caller)
        access.check_token(READ, caller, READ.scopes)
    except Forbidden:
        return False
    return True
