"""The user of the subject who signs in: by a link, and at the first sign-in by the name."""

from typing import NamedTuple

from hub.openid.errors import SignInFailed, WrongSubject
from hub.openid.id_token import Claims
from hub.openid.people import user_of
from hub.openid_settings import OpenIDSettings
from store import Connection
from store.openid import openid_links


class LinkedUser(NamedTuple):
    """A user with the link by which they sign in, which may be new."""

    account_id: int
    link_id: int
    is_new: bool


def identify(db: Connection, settings: OpenIDSettings, claims: Claims) -> LinkedUser:
    """Return the user of the claims' subject.

    A subject without a link gets one to the user whom the claims name. Raises SignInFailed if they
    name none, and WrongSubject if that user is linked to another subject of the issuer.
    """
    issuer, subject = claims["iss"], _subject(claims)
    openid_links.alone(db, issuer)
    link = openid_links.of_subject(db, issuer, subject)
    # A removal ends the sessions that it finds, so none may begin by the removed link afterwards.
    if link is not None and openid_links.use(db, link):
        return LinkedUser(link["account_id"], link["id"], is_new=False)
    user = user_of(db, settings, claims)
    other = openid_links.of_user(db, user["id"], issuer)
    if other is not None:
        raise WrongSubject(user["login"], other["id"], subject)
    made = openid_links.add(db, user["id"], issuer, subject, db.now)
    return LinkedUser(user["id"], made, is_new=True)


def _subject(claims: Claims) -> str:
    subject = claims["sub"]
    if not openid_links.is_subject(subject):
        raise SignInFailed(
            "Your provider does not say who you are: the claim sub is not a text of 1 to"
            f" {openid_links.MOST_SUBJECT} characters without control characters."
        )
    return str(subject)
