"""Media types that clients request in the Accept header.

The vendor's form is `application/vnd.service-family.v3.param+json`, where each part is optional.
The bare vendor name, old preview names and plain JSON all mean the same.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache

from hub.http.accept import Accept
from hub.http.errors import NotAcceptable, Unsupported

VENDOR = re.compile(
    r"application/vnd\.[a-z]+(?:-[a-z]+)?(?:\.(?P<version>v[0-9]+|beta))?"
    r"(?:\.(?P<param>[a-z0-9-]+))?(?:\+(?P<format>[a-z0-9]+))?"
)
USUAL = ("application/json", "text/json")
# Any other parameter that a resource does not know is the name of an old preview, and all previews
# have become permanent.
PARAMS = {"raw", "text", "html", "full", "diff", "patch", "object", "base64", "sha"}
# Forms of the texts. github3.py asks every resource for all of them, and aiogithubapi for the raw
# one, in the words of their platform. That platform answers with the usual form.
EVERYWHERE = re.compile(r"application/vnd\.github\.(?:v3\.)?(?:full|raw)\+json")
MAX_ACCEPT = 200


@dataclass(frozen=True, slots=True)
class Media:
    """A requested form. `param` is None for the usual one."""

    version: str = "v3"
    param: str | None = None

    @property
    def header_value(self) -> str:
        """Return the value of the response header X-Service-Media-Type."""
        param = f" param={self.param};" if self.param else ""
        return f"service.{self.version};{param} format=json"


PLAIN = Media()


def negotiate(accept: str, params: tuple[str, ...]) -> Media:
    """Return the form that an Accept header requests from a resource with these `params`.

    Raises NotAcceptable if the resource lacks the requested form, and Unsupported if no requested
    media type is known.
    """
    return (
        _negotiate_cached(accept, params)
        if len(accept) <= MAX_ACCEPT
        else _negotiate(accept, params)
    )


def accepts_text(accept: str) -> bool:
    """Return whether an Accept header allows plain text."""
    return Accept(accept).quality("text/plain").weight > 0


def _negotiate(accept: str, params: tuple[str, ...]) -> Media:
    asked = Accept(accept)
    offers: dict[Media, tuple[str, ...]] = {PLAIN: USUAL}
    refused = None
    for name, quality in asked.ranges.items():
        media = _named(name, params)
        if media is None or not quality.weight:
            continue
        if media.param in (None, *params) or EVERYWHERE.fullmatch(name):
            offers[media] = (*offers.get(media, ()), name)
        else:
            refused = refused or media.param
    found = asked.choose(offers)
    if found is not None:
        return found
    if refused is not None:
        raise NotAcceptable(f"This resource does not support the '{refused}' media type parameter.")
    accepted = json.dumps([part.strip() for part in accept[:MAX_ACCEPT].split(",")])
    raise Unsupported(f"Unsupported 'Accept' header: {accepted}. Must accept 'application/json'.")


def _named(name: str, params: tuple[str, ...]) -> Media | None:
    """Parse a vendor media type; None for any other."""
    found = VENDOR.fullmatch(name)
    if found is None:
        return None
    param = found["param"]
    return Media(found["version"] or "v3", param if param in PARAMS.union(params) else None)


_negotiate_cached = lru_cache(maxsize=512)(_negotiate)
