"""The OpenID Connect provider: its description, its keys, and the exchange of codes for claims."""

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, Key, KeySet, OKPKey, RSAKey
from pydantic import BaseModel, ValidationError, field_validator

from hub.http.ttl_cache import TTLCache
from hub.openid.attempt import SignInAttempt
from hub.openid.documents import fetch
from hub.openid.errors import ProviderUnavailable, SignInFailed, reason
from hub.openid.id_token import Claims, ExpectedClaims, is_signed_by, verify
from hub.openid.people import wanted_claims
from hub.openid_settings import OpenIDSettings, client_secret, is_secure, tls_context

WELL_KNOWN = "/.well-known/openid-configuration"
# Seconds that the description and the keys are used.
KEPT = 3600
# The least number of seconds between two fetches of the keys because of an unknown signature.
LEAST_BETWEEN = 30
# How many codes are exchanged at the same time: in all, and from one address.
AT_ONCE, AT_ONCE_EACH = 64, 8
MOST_KEYS = 100
# The error for a header with anything else, such as a space at its end, would show the token.
VISIBLE = re.compile("[!-~]+")


class ProviderMetadata(BaseModel):
    """The members of the provider's description (OpenID Connect Discovery) that are used here."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    token_endpoint_auth_methods_supported: list[str] = ["client_secret_basic"]

    @field_validator("authorization_endpoint", "token_endpoint", "jwks_uri")
    @classmethod
    def _is_secure(cls, value: str) -> str:
        if not _is_endpoint(value):
            raise ValueError("is not an https URL")
        return value

    @field_validator("userinfo_endpoint", "end_session_endpoint", mode="before")
    @classmethod
    def _secure_or_none(cls, value: object) -> object:
        """Leave out an endpoint that cannot be used: people can sign in without it."""
        return value if isinstance(value, str) and _is_endpoint(value) else None


def _is_endpoint(url: str) -> bool:
    return is_secure(url.partition("?")[0])


class OpenIDProvider:
    """Asks the provider of the settings. `clock` returns seconds since 1970."""

    def __init__(self, settings: OpenIDSettings, clock: Callable[[], int]) -> None:
        self.issuer, self.client_id = settings.openid_issuer or "", settings.openid_client_id or ""
        self._secret = client_secret(settings)
        self._fetch = partial(fetch, tls_context(settings))
        self._scopes = settings.openid_scopes
        self._wanted = wanted_claims(settings)
        self._clock = clock
        self._metadata: tuple[int, ProviderMetadata] | None = None
        self._keys: tuple[int, KeySet] | None = None
        # All who wait share one fetch. If they fetched one after the other, each would wait for the
        # patience of all before it.
        self._description = TTLCache(self._discover, seconds=0)
        self._key_set = TTLCache(self._fetch_keys, seconds=0)
        self._redeeming: Counter[str] = Counter()

    async def metadata(self) -> ProviderMetadata:
        """Return the provider's description, at most an hour old. Raises ProviderUnavailable."""
        # After the clock was put back, a document of its future is not kept until then.
        if self._metadata is None or not 0 <= self._clock() - self._metadata[0] < KEPT:
            self._metadata = self._clock(), await self._description.get()
        return self._metadata[1]

    async def _discover(self) -> ProviderMetadata:
        url = self.issuer.rstrip("/") + WELL_KNOWN
        status, found = await self._fetch("GET", url)
        if status != 200:
            raise ProviderUnavailable(f"{url} answered {status}")
        try:
            metadata = ProviderMetadata.model_validate(found)
        except ValidationError as error:
            name, why = error.errors()[0]["loc"], error.errors()[0]["msg"]
            raise ProviderUnavailable(
                f"{url} has no usable {'.'.join(map(str, name))}: {why}"
            ) from None
        if metadata.issuer != self.issuer:
            raise ProviderUnavailable(f"{url} is the description of another issuer")
        return metadata

    async def authorization_url(self, attempt: SignInAttempt, redirect_uri: str) -> str:
        """Return where the browser goes to sign in. Raises ProviderUnavailable."""
        metadata = await self.metadata()
        query = urlencode(
            {
                "response_type": "code",
                "client_id": self.client_id,
                "redirect_uri": redirect_uri,
                "scope": self._scopes,
                "state": attempt.state,
                "nonce": attempt.nonce,
                "code_challenge": attempt.challenge,
                "code_challenge_method": "S256",
            }
        )
        return _with_query(metadata.authorization_endpoint, query)

    async def redeem(
        self, code: str, attempt: SignInAttempt, redirect_uri: str, address: str
    ) -> Claims:
        """Exchange a code for the verified claims of the ID token. Raises SignInFailed.

        The codes that are exchanged at the same time are limited, because anybody can send codes,
        and each costs a request to the provider. One address does not take the turns of all others.
        """
        redeeming = self._redeeming
        if redeeming.total() >= AT_ONCE or redeeming[address] >= AT_ONCE_EACH:
            raise ProviderUnavailable("Too many people sign in just now. Please try again.")
        redeeming[address] += 1
        try:
            return await self._redeem(code, attempt, redirect_uri)
        finally:
            redeeming[address] -= 1
            if not redeeming[address]:
                del redeeming[address]

    async def _redeem(self, code: str, attempt: SignInAttempt, redirect_uri: str) -> Claims:
        metadata = await self.metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": attempt.verifier,
        }
        status, found = await self._fetch(
            "POST", metadata.token_endpoint, **self._with_credentials(metadata, form)
        )
        token = found.get("id_token")
        if status != 200 or not isinstance(token, str):
            why = reason(found, f"status {status}")
            raise SignInFailed(f"The provider did not accept the sign-in: {why}.")
        expected = ExpectedClaims(self.issuer, self.client_id, attempt.nonce, self._clock())
        claims = verify(token, await self._keys_for(token), expected)
        return await self._completed(metadata, claims, found.get("access_token"))

    async def _completed(self, metadata: ProviderMetadata, claims: Claims, token: object) -> Claims:
        """Return the claims with the wanted ones. Many providers have them only at their userinfo
        endpoint (OpenID Connect Core, 5.4), so they are fetched there if the ID token lacks one.
        """
        url = metadata.userinfo_endpoint
        if claims.keys() >= set(self._wanted) or url is None or not isinstance(token, str):
            return claims
        if not VISIBLE.fullmatch(token):
            raise ProviderUnavailable("The provider sent an access token that cannot be used.")
        status, found = await self._fetch("GET", url, headers={"authorization": f"Bearer {token}"})
        if status != 200:
            raise ProviderUnavailable(f"{url} answered {status}")
        if found.get("sub") != claims["sub"]:
            raise SignInFailed("The provider sent claims of another person.")
        # All are of one document, so that an address never gets the `email_verified` of another.
        if self._wanted[0] not in found:
            return claims
        return claims | {name: found.get(name) for name in self._wanted}

    def _with_credentials(self, metadata: ProviderMetadata, form: dict[str, str]) -> dict[str, Any]:
        """Return the form with the client's credentials, in a way that the provider accepts."""
        if self._secret is None:
            return {"data": form | {"client_id": self.client_id}}
        if "client_secret_basic" in metadata.token_endpoint_auth_methods_supported:
            # Encoded first: RFC 6749, 2.3.1.
            return {"data": form, "auth": (quote(self.client_id, ""), quote(self._secret, ""))}
        return {"data": form | {"client_id": self.client_id, "client_secret": self._secret}}

    async def _keys_for(self, token: str) -> KeySet:
        """Return the provider's keys; fetched anew if none of them has signed the token.

        A provider may give a new key the id of the former one, or no id.
        """
        now = self._clock()
        if self._keys is not None:
            age = now - self._keys[0]
            if 0 <= age < (KEPT if is_signed_by(token, self._keys[1]) else LEAST_BETWEEN):
                return self._keys[1]
        self._keys = now, await self._key_set.get()
        return self._keys[1]

    async def _fetch_keys(self) -> KeySet:
        metadata = await self.metadata()
        status, found = await self._fetch("GET", metadata.jwks_uri)
        given = found.get("keys") if status == 200 else None
        keys = _usable_keys(given) if isinstance(given, list) else []
        if not keys:
            raise ProviderUnavailable(f"{metadata.jwks_uri} has no keys")
        return KeySet(keys)

    async def sign_out_url(self, back: str) -> str | None:
        """Return the URL at which people sign out at the provider, or None if it is not known."""
        try:
            metadata = await self.metadata()
        except ProviderUnavailable:
            return None
        if metadata.end_session_endpoint is None:
            return None
        query = urlencode({"client_id": self.client_id, "post_logout_redirect_uri": back})
        return _with_query(metadata.end_session_endpoint, query)


def _usable_keys(given: list[Any]) -> list[Key]:
    """Return the public keys that can verify ID tokens. Others, of any kind, are left out."""
    keys: list[Key] = []
    for one in given[:MOST_KEYS]:
        if not isinstance(one, dict) or one.get("kty") == "oct" or one.get("use", "sig") != "sig":
            continue
        try:
            key = JWKRegistry.import_key(one)
        except (JoseError, ValueError, KeyError, TypeError):
            continue
        if isinstance(key, RSAKey | ECKey | OKPKey):
            keys.append(key)
    return keys


def _with_query(url: str, query: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{query}"
