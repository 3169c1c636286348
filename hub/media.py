"""Media types: what a client's Accept header asks for, in the platform's notation.

`application/vnd.service-family.v3.param+json`, each part of it optional; the vendor's own name,
the old previews and plain JSON are all the same.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache

from hub.errors import NotAcceptable, Unsupported

VENDOR = re.compile(
    r"application/vnd\.[a-z]+(?:-[a-z]+)?(?:\.(?P<version>v[0-9]+|beta))?"
    r"(?:\.(?P<param>[a-z0-9-]+))?(?:\+(?P<format>[a-z0-9]+))?"
)
ANYTHING = ("", "*/*", "application/*", "application/json", "text/json")
# Others are the names of previews, which all have come to be.
PARAMS = {"raw", "text", "html", "full", "diff", "patch", "object", "base64", "sha"}
LONGEST = 200


@dataclass(frozen=True, slots=True)
class Media:
    """The form wanted: `param` is None for what is usual."""

    version: str = "v3"
    param: str | None = None

    @property
    def told(self) -> str:
        """As the answer tells of it."""
        param = f" param={self.param};" if self.param else ""
        return f"service.{self.version};{param} format=json"


PLAIN = Media()


def wanted(accept: str, params: tuple[str, ...]) -> Media:
    """What an Accept header asks of a resource that has these forms beside its usual one.

    NotAcceptable for a form it has not, Unsupported where nothing that is asked for is known here.
    """
    return _wanted(accept, params) if len(accept) <= LONGEST else _judge(accept, params)


def _judge(accept: str, params: tuple[str, ...]) -> Media:
    refused = None
    for given in accept.split(","):
        name = given.partition(";")[0].strip().lower()
        if name in ANYTHING:
            return PLAIN
        found = VENDOR.fullmatch(name)
        if found is None:
            continue
        version, param = found["version"] or "v3", found["param"]
        if param not in PARAMS:
            return Media(version)
        if param in params:
            return Media(version, param)
        refused = refused or param
    if refused is not None:
        raise NotAcceptable(f"This resource does not support the '{refused}' media type parameter.")
    asked = json.dumps([part.strip() for part in accept[:LONGEST].split(",")])
    raise Unsupported(f"Unsupported 'Accept' header: {asked}. Must accept 'application/json'.")


_wanted = lru_cache(maxsize=512)(_judge)
