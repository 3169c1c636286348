"""The settings for signing in to the dashboard with OpenID Connect."""

import ssl
from functools import cache
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from store.errors import Unusable
from store.named_file import read_file
from store.settings import LOOPBACK, SettingsPart, read_secret


class OpenIDSettings(SettingsPart):
    """The provider, the hub's registration with it, and how its users are found here."""

    openid_issuer: str | None = Field(
        None,
        description="URL of an OpenID Connect provider, with which people sign in to the dashboard "
        "(needs the extra `openid`); unset: they sign in with tokens alone",
    )
    openid_client_id: str | None = Field(
        None, description="the hub's client id at the provider; required with `openid_issuer`"
    )
    openid_client_secret: SecretStr | None = Field(
        None, description="the client's secret; unset: a public client, which PKCE protects"
    )
    openid_client_secret_file: Path | None = Field(
        None,
        description="a file with the client's secret, e.g. a systemd credential; it replaces "
        "`openid_client_secret`",
    )
    openid_ca: Path | None = Field(
        None,
        description="file (PEM) with the authorities that may have issued the provider's "
        "certificate; by default the machine's",
    )
    openid_scopes: str = Field(
        "openid email profile",
        description="scopes to ask the provider for, separated by spaces; `openid` must be one of "
        "them",
    )
    openid_match: Literal["email", "login"] = Field(
        "email",
        description="how a user is found: by an email address that is verified at the provider "
        "and here (`email`), or by the claim `openid_login_claim` (`login`). Choose `login` only "
        "if people cannot choose that claim themselves",
    )
    openid_login_claim: str = Field(
        "preferred_username", description="the claim that holds a user's login here"
    )
    openid_label: str = Field(
        "Sign in with OpenID Connect",
        min_length=1,
        max_length=60,
        description="the words on the button of the sign-in page",
    )

    @field_validator("openid_issuer")
    @classmethod
    def _is_issuer(cls, value: str | None) -> str | None:
        if value is not None and not is_secure(value):
            raise ValueError("must be an https URL (or http on this machine), without a query")
        return value

    @field_validator("openid_scopes")
    @classmethod
    def _asks_for_openid(cls, value: str) -> str:
        if "openid" not in value.split():
            raise ValueError("must include the scope openid")
        return value

    @model_validator(mode="after")
    def _issuer_has_a_client(self) -> Self:
        if self.openid_issuer is not None and not self.openid_client_id:
            raise ValueError("openid_issuer requires openid_client_id")
        return self


def is_secure(url: str) -> bool:
    """Return whether a URL is https, or http to this machine.

    URLs with a user name, a query or a fragment are not accepted.
    """
    try:
        parts = urlsplit(url)
        # It raises ValueError for a port that is no number below 65536.
        _ = parts.port
    except ValueError:
        return False
    if parts.query or parts.fragment or parts.username is not None or not parts.hostname:
        return False
    # `urlsplit` leaves out line breaks and some spaces. A header or a request has the whole text.
    if not url.isprintable() or " " in url:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


def client_secret(settings: OpenIDSettings) -> str | None:
    """Return the client's secret, or None for a public client.

    Raises Unusable if the secret's file cannot be read or is empty.
    """
    path = settings.openid_client_secret_file
    if path is None:
        secret = settings.openid_client_secret
        return None if secret is None else secret.get_secret_value()
    return read_secret("openid_client_secret_file", path)


def tls_context(settings: OpenIDSettings) -> ssl.SSLContext:
    """Return the context for connections to the provider.

    Raises Unusable if the file of authorities cannot be read, or has none.
    """
    path = settings.openid_ca
    if path is None:
        return machine_context()
    try:
        # Only comments have other characters, which the context does not accept. Without any text,
        # it would trust the machine's authorities.
        return _verifying_context(read_file(path).decode("ascii", "ignore") or " ")
    except ssl.SSLError:
        raise Unusable(f"openid_ca: {path} has no certificate") from None
    except OSError as error:
        raise Unusable(f"openid_ca: cannot read {path}: {error.strerror}") from None


@cache
def machine_context() -> ssl.SSLContext:
    """Return the context that trusts the machine's authorities. It is made once, because that
    takes 20 ms.
    """
    return _verifying_context(None)


def _verifying_context(authorities: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authorities)
    # Python sets it since 3.13. Then certificates of many private authorities are refused.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
