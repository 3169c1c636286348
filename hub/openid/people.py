"""The user here whom a provider's claims name, for the first sign-in of a person."""

import unicodedata

from hub.openid.errors import SignInFailed
from hub.openid.id_token import Claims
from hub.openid_settings import OpenIDSettings
from store import Connection, Row
from store.accounts import accounts, emails


def wanted_claims(settings: OpenIDSettings) -> tuple[str, ...]:
    """Return the claims by which a user is found, the most important one first."""
    if settings.openid_match == "login":
        return (settings.openid_login_claim,)
    return "email", "email_verified"


def user_of(db: Connection, settings: OpenIDSettings, claims: Claims) -> Row:
    """Return the user's account. Raises SignInFailed, with who can give access, if there is none.

    No account is created: a site administrator decides who has one.
    """
    if settings.openid_match == "login":
        return _by_login(db, claims.get(settings.openid_login_claim), settings.openid_login_claim)
    return _by_email(db, claims.get("email"), claims.get("email_verified"))


def _by_login(db: Connection, login: object, claim: str) -> Row:
    if not isinstance(login, str) or not login:
        raise SignInFailed(f"Your provider does not say who you are: the claim {claim} is missing.")
    # No login has such a character.
    user = accounts.by_login(db, login) if login.isascii() and login.isprintable() else None
    # If only events have named an account, it belongs to no user of this hub.
    if user is None or user["kind"] != "User" or user["heard_of"]:
        raise SignInFailed(
            f"There is no user {login[:100]!r} here. A site administrator can add one:"
            " tocsin user add LOGIN."
        )
    return user


def _by_email(db: Connection, email: object, verified: object) -> Row:
    if not isinstance(email, str) or not email:
        raise SignInFailed("Your provider does not tell your email address: it is in no claim.")
    # Some providers write the boolean as a text.
    if verified not in (True, "true"):
        raise SignInFailed(f"Your provider has not verified your email address {email[:250]}.")
    owner = emails.verified_owner(db, email) if _names_itself(email) else None
    user = None if owner is None else accounts.get(db, owner)
    if user is None:
        raise SignInFailed(
            f"No user here has the verified email address {email[:250]}. A site administrator can"
            " add one, or you can add the address to your account."
        )
    return user


def _names_itself(email: str) -> bool:
    """Return whether the comparison of addresses takes none of the characters for one of ASCII.

    For it, the sign for kelvin is a k.
    """
    others = (unicodedata.normalize("NFC", one).lower() for one in email if not one.isascii())
    return email.isprintable() and all(not part.isascii() for other in others for part in other)
