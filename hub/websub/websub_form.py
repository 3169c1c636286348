"""What a request to the WebSub hub says: read strictly, and refused with a reason in words."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from hub.http.errors import Malformed
from hub.http.forms import MAX_FIELDS
from hub.http.numbers import natural

MODES = ("subscribe", "unsubscribe", "publish")
MOST_URL, MOST_TOKEN = 2048, 512
# "less than 200 bytes"
SECRET_BYTES = 200
UNFIT = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]|\s")
NOT_IN_LINK = re.compile('[<>"]')
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class WebSubForm:
    """The fields of a request; what is not known among them is ignored."""

    def __init__(self, body: bytes) -> None:
        try:
            self._pairs = parse_qsl(
                body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
            )
        except ValueError:
            raise Malformed("the body is no form in UTF-8") from None
        self._fields = dict(self._pairs)

    def get(self, name: str) -> str:
        """A field's value; of one that is repeated the last, of one that is not there nothing."""
        return self._fields.get(name, "")

    def every(self, *names: str) -> list[str]:
        """The values of all fields of these names, each once."""
        return list(dict.fromkeys(value for name, value in self._pairs if name in names and value))

    def mode(self) -> str:
        """What is asked for."""
        mode = self.get("hub.mode")
        if not mode:
            raise Malformed("hub.mode is missing")
        if mode not in MODES:
            raise Malformed(f'hub.mode is "{mode[:100]}": it must be {", ".join(MODES)}')
        return mode

    def url(self, name: str) -> str:
        """The URL in a field."""
        value = self.get(name)
        if not value:
            raise Malformed(f"{name} is missing")
        return checked_url(name, value)


def checked_url(name: str, value: str) -> str:
    """An http or https URL that can be asked for as it is; Malformed for another."""
    if len(value) > MOST_URL:
        raise Malformed(f"{name} is longer than {MOST_URL} characters")
    parts = _parts(value)
    if parts is None or not re.match("https?://", value, re.IGNORECASE) or UNFIT.search(value):
        raise Malformed(f"{name} is no http or https URL")
    if name != "hub.callback" and NOT_IN_LINK.search(value):
        raise Malformed(f"{name} holds what belongs in no URL")
    if "#" in value:
        raise Malformed(f"{name} has a fragment, which is never sent")
    if "@" in parts.netloc:
        raise Malformed(f"{name} holds credentials")
    return value


@dataclass(frozen=True, slots=True)
class UrlParts:
    """Of a URL: what is before the path, and the host in it."""

    netloc: str
    host: str


def _parts(value: str) -> UrlParts | None:
    try:
        found = urlsplit(value)
        if not found.hostname or found.port == 0:
            return None
    except ValueError:
        return None
    return UrlParts(found.netloc, found.hostname.rstrip(".").lower())


def host_of(url: str) -> str:
    """The host of a URL that was checked."""
    parts = _parts(url)
    assert parts is not None, "it was checked"
    return parts.host[:253]


def names_address(host: str) -> bool:
    """Whether a host can be judged as it is, because nobody has to be asked for its address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return NUMBER.fullmatch(host.rpartition(".")[2]) is not None
    return True


def lease_of(form: WebSubForm, least: int, usual: int, most: int) -> int:
    """The seconds that are granted: what is asked for, within bounds, or what is usual."""
    given = form.get("hub.lease_seconds")
    seconds = natural(given) if given else 0
    if seconds is None:
        raise Malformed("hub.lease_seconds is no positive number of seconds")
    # 0 stood for "for ever" in the protocol's early days, which is nobody's to have.
    return min(max(seconds, least), most) if seconds else usual


def secret_of(form: WebSubForm) -> str | None:
    """The secret to sign with, if there is one."""
    secret = form.get("hub.secret")
    if len(secret.encode()) >= SECRET_BYTES:
        raise Malformed(f"hub.secret must be shorter than {SECRET_BYTES} bytes")
    return secret or None


def token_of(form: WebSubForm) -> str | None:
    """What an early subscriber wants to be told again."""
    token = form.get("hub.verify_token")
    if len(token) > MOST_TOKEN:
        raise Malformed(f"hub.verify_token is longer than {MOST_TOKEN} characters")
    return token or None
