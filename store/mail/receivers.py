"""The receivers of mails about a hook: the people who administer what the hook belongs to."""

from dataclasses import dataclass, field

from store.accounts.role_grants import GRANTS
from store.alerts.alerts import INSTALLATION
from store.database.connection import Connection, Row

# The limit of receivers for one hook.
MOST = 20
# People with a verified primary address who have not unsubscribed from the hook.
_REACHED = (
    "SELECT a.id, a.login, e.email FROM account a JOIN email e ON e.account_id = a.id"
    " WHERE e.is_primary = 1 AND e.verified = 1 AND a.kind = 'User' AND a.heard_of = 0"
    " AND NOT EXISTS (SELECT 1 FROM mail_unsubscribed u WHERE u.account_id = a.id"
    " AND u.hook_id = :hook_id) AND {chosen} ORDER BY a.id LIMIT :most"
)
_OWNERS = (
    "SELECT CAST(:owner_id AS BIGINT) AS id UNION SELECT m.account_id FROM membership m"
    " WHERE m.organization_id = :owner_id AND m.role = 'admin'"
)
_GRANTED = (
    f" UNION SELECT c.account_id FROM {GRANTS} AS c WHERE c.repo_id = :repo_id AND c.role = 'admin'"
)


@dataclass(frozen=True, slots=True)
class Administrators:
    """The administrators of a hook: an SQL condition on accounts `a`, and its parameters."""

    condition: str
    given: dict[str, int] = field(default_factory=dict)


SITE = Administrators("a.site_admin = 1")


def of_hook(db: Connection, hook_id: int) -> list[Row]:
    """Return `id`, `login` and `email` of the accounts that get mail about a hook.

    For INSTALLATION and for hooks of the whole installation these are the site administrators. A
    hook that is gone has no receivers.
    """
    found = _administrators(db, hook_id)
    if found is None:
        return []
    query = _REACHED.format(chosen=found.condition)
    return db.all(query, hook_id=hook_id, most=MOST, **found.given)


def administers(db: Connection, account_id: int, hook_id: int) -> bool:
    """Return whether an account may get mail about a hook, if it has subscribed and an address."""
    found = _administrators(db, hook_id)
    if found is None:
        return False
    query = f"SELECT 1 FROM account a WHERE a.id = :account_id AND {found.condition}"
    return db.value(query, account_id=account_id, **found.given) is not None


def _administrators(db: Connection, hook_id: int) -> Administrators | None:
    """Return the administrators of what a hook belongs to. Return None if the hook is gone."""
    if hook_id == INSTALLATION:
        return SITE
    hook = db.one(
        "SELECT h.repo_id, h.org_id, h.app_id, COALESCE(r.owner_id, h.org_id, p.owner_id)"
        " AS owner_id FROM hook h LEFT JOIN repository r ON r.id = h.repo_id"
        " LEFT JOIN app p ON p.id = h.app_id WHERE h.id = :hook_id AND h.deleted_at IS NULL",
        hook_id=hook_id,
    )
    if hook is None:
        return None
    if hook["owner_id"] is None:
        return SITE
    given = {"owner_id": hook["owner_id"]}
    if hook["repo_id"] is None:
        return Administrators(f"a.id IN ({_OWNERS})", given)
    return Administrators(f"a.id IN ({_OWNERS}{_GRANTED})", given | {"repo_id": hook["repo_id"]})


def address_of(db: Connection, account_id: int) -> str | None:
    """Return the verified primary address of an account, or None."""
    found: str | None = db.value(
        "SELECT email FROM email WHERE account_id = :account_id AND is_primary = 1"
        " AND verified = 1",
        account_id=account_id,
    )
    return found
