"""The receivers of mails about a hook: the people who administer what the hook belongs to."""

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


def of_hook(db: Connection, hook_id: int) -> list[Row]:
    """Return `id`, `login` and `email` of the accounts that get mail about a hook.

    For INSTALLATION and for hooks of the whole installation these are the site administrators. A
    hook that is gone has no receivers.
    """
    if hook_id == INSTALLATION:
        return _reached(db, hook_id, "a.site_admin = 1")
    hook = db.one(
        "SELECT h.repo_id, h.org_id, h.app_id, COALESCE(r.owner_id, h.org_id, p.owner_id)"
        " AS owner_id FROM hook h LEFT JOIN repository r ON r.id = h.repo_id"
        " LEFT JOIN app p ON p.id = h.app_id WHERE h.id = :hook_id AND h.deleted_at IS NULL",
        hook_id=hook_id,
    )
    if hook is None:
        return []
    if hook["owner_id"] is None:
        return _reached(db, hook_id, "a.site_admin = 1")
    given = {"owner_id": hook["owner_id"]}
    if hook["repo_id"] is None:
        return _reached(db, hook_id, f"a.id IN ({_OWNERS})", **given)
    given["repo_id"] = hook["repo_id"]
    return _reached(db, hook_id, f"a.id IN ({_OWNERS}{_GRANTED})", **given)


def _reached(db: Connection, hook_id: int, chosen: str, **given: int) -> list[Row]:
    return db.all(_REACHED.format(chosen=chosen), hook_id=hook_id, most=MOST, **given)


def address_of(db: Connection, account_id: int) -> str | None:
    """Return the verified primary address of an account, or None."""
    found: str | None = db.value(
        "SELECT email FROM email WHERE account_id = :account_id AND is_primary = 1"
        " AND verified = 1",
        account_id=account_id,
    )
    return found
