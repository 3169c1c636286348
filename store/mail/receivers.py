"""The receivers of mails about a hook: the people who administer what the hook belongs to."""

from collections.abc import Collection

from store.accounts.role_grants import GRANTS
from store.alerts.alerts import INSTALLATION
from store.database.connection import Connection, Row, json_array

# The limit of receivers for one hook.
MOST = 20
# People with a verified primary address who have not unsubscribed from the hook.
_REACHED = (
    "account a JOIN email e ON e.account_id = a.id"
    " WHERE e.is_primary = 1 AND e.verified = 1 AND a.kind = 'User' AND a.heard_of = 0"
    " AND NOT EXISTS (SELECT 1 FROM mail_unsubscribed u WHERE u.account_id = a.id"
    " AND u.hook_id = {hook_id})"
)
# The owner of a hook `h`. A hook of the whole installation has none.
_OWNER_ID = "COALESCE(r.owner_id, h.org_id, p.owner_id)"
_TARGETS = "LEFT JOIN repository r ON r.id = h.repo_id LEFT JOIN app p ON p.id = h.app_id"
# Everyone who administers a hook, as its owner, in the organization or in the repository.
_ADMINISTRATORS = (
    "SELECT {owner_id} AS id UNION SELECT m.account_id FROM membership m"
    " WHERE m.organization_id = {owner_id} AND m.role = 'admin'"
    f" UNION SELECT c.account_id FROM {GRANTS} AS c"
    " WHERE c.repo_id = {repo_id} AND c.role = 'admin'"
)


def of_hook(db: Connection, hook_id: int) -> list[Row]:
    """Return `id`, `login` and `email` of the accounts that get mail about a hook.

    For INSTALLATION and for hooks of the whole installation these are the site administrators. A
    hook that is gone has no receivers.
    """
    if hook_id == INSTALLATION:
        return _reached(db, hook_id, "a.site_admin = 1")
    hook = db.one(
        f"SELECT h.repo_id, {_OWNER_ID} AS owner_id FROM hook h {_TARGETS}"
        " WHERE h.id = :hook_id AND h.deleted_at IS NULL",
        hook_id=hook_id,
    )
    if hook is None:
        return []
    if hook["owner_id"] is None:
        return _reached(db, hook_id, "a.site_admin = 1")
    owner, repo = "CAST(:owner_id AS BIGINT)", "CAST(:repo_id AS BIGINT)"
    chosen = _ADMINISTRATORS.format(owner_id=owner, repo_id=repo)
    return _reached(db, hook_id, f"a.id IN ({chosen})", **hook)


def _reached(db: Connection, hook_id: int, chosen: str, **given: int | None) -> list[Row]:
    return db.all(
        f"SELECT a.id, a.login, e.email FROM {_REACHED.format(hook_id=':hook_id')}"
        f" AND {chosen} ORDER BY a.id LIMIT :most",
        hook_id=hook_id,
        most=MOST,
        **given,
    )


def hooks_of(db: Connection, account_id: int, hook_ids: Collection[int]) -> set[int]:
    """Return the hooks among these about which an account may get mail.

    The limit of receivers does not count: it has chosen them before.
    """
    reached = _REACHED.format(hook_id="w.id")
    also = f" AND EXISTS (SELECT 1 FROM {reached} AND a.id = :account_id)"
    return _find_hooks(db, account_id, hook_ids, also)


def hooks_of_administrator(db: Connection, account_id: int, hook_ids: Collection[int]) -> set[int]:
    """Return the hooks among these about which an account may get mail.

    It need not have subscribed, nor have an address.
    """
    return _find_hooks(db, account_id, hook_ids)


def _find_hooks(
    db: Connection, account_id: int, hook_ids: Collection[int], also: str = ""
) -> set[int]:
    """Return the hooks among these that an account administers and for which `also` holds.

    It is one statement for all of them, because there may be thousands.
    """
    # The account is a parameter, so that the engine looks it up in each part of the union.
    administrators = _ADMINISTRATORS.format(owner_id=_OWNER_ID, repo_id="h.repo_id")
    chosen = f"EXISTS (SELECT 1 FROM ({administrators}) AS x WHERE x.id = :account_id)"
    site = "EXISTS (SELECT 1 FROM account s WHERE s.id = :account_id AND s.site_admin = 1)"
    rows = db.column(
        f"SELECT w.id FROM {db.each('ids', id='integer')} AS w"
        f" LEFT JOIN hook h ON h.id = w.id AND h.deleted_at IS NULL {_TARGETS}"
        f" WHERE (h.id IS NOT NULL OR w.id = {INSTALLATION})"
        f" AND CASE WHEN {_OWNER_ID} IS NULL THEN {site} ELSE {chosen} END{also}",
        account_id=account_id,
        ids=json_array(hook_ids),
    )
    return set(rows)


def address_of(db: Connection, account_id: int) -> str | None:
    """Return the verified primary address of an account, or None."""
    found: str | None = db.value(
        "SELECT email FROM email WHERE account_id = :account_id AND is_primary = 1"
        " AND verified = 1",
        account_id=account_id,
    )
    return found
