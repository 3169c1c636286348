"""Single sign-on: the organizations that enforce it, and the tokens authorized for them."""

from store.database.connection import Connection
from store.errors import Invalid


def authorizing(owner: str) -> str:
    """Return SQL for: the single sign-on of an account, if it has one, authorizes :token_id.

    `owner` is the account's name in the query.
    """
    return (
        f"({owner}.sso = 0 OR EXISTS (SELECT 1 FROM token_authorization t"
        f" WHERE t.token_id = :token_id AND t.organization_id = {owner}.id))"
    )


def enforce(db: Connection, organization_id: int, enforced: bool) -> None:
    """Set whether an organization refuses tokens that were not authorized for it."""
    db.execute(
        "UPDATE account SET sso = :sso, updated_at = :now WHERE id = :id AND sso <> :sso",
        sso=int(enforced),
        id=organization_id,
    )


def enforced(db: Connection, organization_id: int) -> bool:
    return bool(db.value("SELECT sso FROM account WHERE id = :id", id=organization_id))


def authorize(db: Connection, token_id: int, organization_id: int) -> bool:
    """Authorize a token for an organization. Return False if it was authorized already.

    Raises Invalid for a token that was made with a password.
    """
    if db.value("SELECT by_password FROM token WHERE id = :id", id=token_id):
        raise Invalid("a token made with a password cannot be authorized for single sign-on")
    added = db.execute(
        "INSERT INTO token_authorization (token_id, organization_id, created_at)"
        " VALUES (:token_id, :organization_id, :now) ON CONFLICT DO NOTHING",
        token_id=token_id,
        organization_id=organization_id,
    )
    return added > 0


def permits(db: Connection, organization_id: int, token_id: int) -> bool:
    """Return whether an organization accepts a token: it is authorized, or need not be."""
    return not db.exists(
        f"SELECT 1 FROM account a WHERE a.id = :organization_id AND NOT {authorizing('a')}",
        organization_id=organization_id,
        token_id=token_id,
    )


def organizations(db: Connection, token_id: int) -> list[str]:
    """Return the logins of the organizations for which a token is authorized."""
    return db.column(
        "SELECT a.login FROM token_authorization t JOIN account a ON a.id = t.organization_id"
        " WHERE t.token_id = :token_id ORDER BY a.login_key",
        token_id=token_id,
    )
