"""Static headers of a hook: which names and values are allowed, and which values are secret."""

import re

from store.errors import Invalid

MOST_HEADERS = 20
MOST_BYTES = 4096
# Each line also has a colon, a space, and the two characters of its end.
LINE_OVERHEAD = 4

# Names that the connection, the message or the delivery itself determines.
_DENIED = """
accept age cache-control clear-site-data connection content-digest content-encoding
content-language content-length content-location content-type date expect expires forwarded
host keep-alive origin pragma signature signature-input te traceparent tracestate trailer
trailers transfer-encoding upgrade user-agent via warning
"""
DENIED = frozenset(_DENIED.split())
DENIED_PREFIXES = (
    "webhook-", "ce-", "x-hub-", "x-github-", "x-service-", "x-svix-", "svix-", "proxy-", "sec-",
    "x-amz-", "x-amzn-", "x-google", "x-goog-", "x-gfe", "x-azure-", "x-fd-",
)  # fmt: skip
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_SECRET = re.compile(r"auth|cookie|credential|jwt|key|pass|secret|session|token")


def is_secret(name: str) -> bool:
    """Return whether the values of a header are secret, by the header's name."""
    return _SECRET.search(name.lower()) is not None


def check(headers: dict[str, str]) -> dict[str, str]:
    """Return the headers. Raises ValueError if a name, a value or the size is not allowed."""
    if len(headers) > MOST_HEADERS:
        raise ValueError(f"at most {MOST_HEADERS} headers are allowed")
    for name, value in headers.items():
        _check_name(name)
        # The message must not show the value, which may be secret.
        if not _VALUE.fullmatch(value):
            raise ValueError(f"the value of {name} must be printable ASCII without outer spaces")
    if len({name.lower() for name in headers}) < len(headers):
        raise ValueError("a header is given twice, because case does not matter in names")
    if size(headers) > MOST_BYTES:
        raise ValueError(f"the headers must have at most {MOST_BYTES} bytes")
    return headers


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:100]!a} is not a name of a header (RFC 9110)")
    lowered = name.lower()
    if lowered in DENIED or lowered.startswith(DENIED_PREFIXES):
        raise ValueError(f"the header {name} is not allowed: the hub or the connection sets it")


def size(headers: dict[str, str]) -> int:
    """Return the bytes of the headers in a request."""
    return sum(len(name) + len(value) + LINE_OVERHEAD for name, value in headers.items())


def read_line(line: str) -> tuple[str, str]:
    """Return the name and the value of a header line. Raises Invalid if it has no colon."""
    name, colon, value = line.partition(":")
    if not colon:
        raise Invalid("a header has the form `Name: value`", field="headers")
    return name.strip(), value.strip()
