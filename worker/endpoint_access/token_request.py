"""Requests for access tokens by client credentials, and the answers (RFC 6749, RFC 7523)."""

import re
import secrets
from base64 import b64encode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from store.clock import SECOND
from store.endpoint_access import oauth2
from worker.http.client import FetchedResponse

USER_AGENT = "tocsin (OAuth 2.0 client credentials)"
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_SECONDS = 300
# In seconds: how long a token is used if its answer does not say, and at most.
USUAL_LIFETIME, LONGEST_LIFETIME = 300.0, 86_400.0
_TOKEN = re.compile(r"[!-~]{1,8192}")
_CODE = re.compile(r"[!#-\[\]-~ ]{1,100}")


class TokenFailed(Exception):
    """No token was issued. The text says why, without secrets."""


@dataclass(frozen=True, slots=True)
class TokenCredentials:
    """The credentials of a client, and the tokens that it wants. Equal ones share a token."""

    token_url: str
    client_id: str
    method: str = oauth2.BASIC
    client_secret: str = field(default="", repr=False)
    private_key: str = field(default="", repr=False)
    key_id: str = ""
    scope: str = ""
    audience: str = ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the texts that no record may show."""
        return (self.client_secret,) if self.client_secret else ()


@dataclass(frozen=True, slots=True)
class EndpointToken:
    """A token, and how many seconds it lasts."""

    value: str = field(repr=False)
    lifetime: float


def credentials_of(options: dict[str, Any]) -> TokenCredentials:
    """Return the credentials for the option `oauth2` (store.endpoint_access.oauth2)."""
    return TokenCredentials(**{name: value for name, value in options.items() if value is not None})


def token_request(credentials: TokenCredentials, now: int) -> tuple[dict[str, str], bytes]:
    """Return the headers and the body of a request. `now` is in microseconds."""
    form = {"grant_type": "client_credentials"}
    form |= {name: value for name in ("scope", "audience") if (value := getattr(credentials, name))}
    headers = {
        "User-Agent": USER_AGENT,
        "Accept": "application/json",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    if credentials.method == oauth2.BASIC:
        headers["Authorization"] = f"Basic {_basic(credentials)}"
    elif credentials.method == oauth2.POST:
        form |= {"client_id": credentials.client_id, "client_secret": credentials.client_secret}
    else:
        form |= {
            "client_id": credentials.client_id,
            "client_assertion_type": ASSERTION_TYPE,
            "client_assertion": client_assertion(credentials, now),
        }
    return headers, urlencode(form).encode()


def _basic(credentials: TokenCredentials) -> str:
    # RFC 6749, section 2.3.1: both parts are encoded as in a form before they are joined.
    # Not all servers decode a plus sign there; `%20` is a space to all of them.
    parts = credentials.client_id, credentials.client_secret
    pair = ":".join(quote(one, safe="") for one in parts)
    return b64encode(pair.encode()).decode()


def client_assertion(credentials: TokenCredentials, now: int) -> str:
    """Return a JSON Web Token by which the client authenticates (RFC 7523, section 3)."""
    key = oauth2.load_key(credentials.private_key)
    algorithm = oauth2.algorithm_of(key)
    header = {"alg": algorithm, "typ": "JWT"}
    if credentials.key_id:
        header["kid"] = credentials.key_id
    claims = {
        "iss": credentials.client_id,
        "sub": credentials.client_id,
        "aud": credentials.token_url,
        "jti": secrets.token_urlsafe(16),
        "iat": now // SECOND,
        "exp": now // SECOND + ASSERTION_SECONDS,
    }
    signed = b".".join(_encoded(orjson.dumps(part)) for part in (header, claims))
    return b".".join([signed, _encoded(_signature(key, algorithm, signed))]).decode()


def _signature(key: Any, algorithm: str, signed: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric import ec, padding
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    if algorithm == "RS256":
        return bytes(key.sign(signed, padding.PKCS1v15(), SHA256()))
    if algorithm == "ES256":
        numbers = decode_dss_signature(key.sign(signed, ec.ECDSA(SHA256())))
        return b"".join(number.to_bytes(32, "big") for number in numbers)
    return bytes(key.sign(signed))


def _encoded(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


def read_token(answer: FetchedResponse) -> EndpointToken:
    """Return the token in an answer. Raises TokenFailed if there is none."""
    if answer.error is not None:
        raise TokenFailed(answer.error)
    content = _content(answer)
    if answer.status != 200:
        code = content.get("error")
        said = f" {code}" if isinstance(code, str) and _CODE.fullmatch(code) else ""
        raise TokenFailed(f"the token URL answered {answer.status}{said}")
    value = content.get("access_token")
    if not isinstance(value, str) or not _TOKEN.fullmatch(value):
        raise TokenFailed("the answer of the token URL has no usable access_token")
    if str(content.get("token_type", "")).lower() != "bearer":
        raise TokenFailed("the token URL issued a token of another type than Bearer")
    return EndpointToken(value, _lifetime(content.get("expires_in")))


def _content(answer: FetchedResponse) -> dict[str, Any]:
    try:
        found = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _lifetime(given: Any) -> float:
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        return USUAL_LIFETIME
    return min(seconds, LONGEST_LIFETIME) if seconds > 0 else USUAL_LIFETIME
