"""Requests as curl commands, without any secret."""

from shlex import quote

from hub.ui.payload_bytes import body_of
from store import Row

# Bodies beyond this are read from a file.
MOST_INLINE = 4096
JSON = "-H 'Content-Type: application/json'"
OWN = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding"}


def posting(url: str, body: str) -> str:
    """Return the curl command that posts JSON to a URL of this server with a token."""
    # --json does the same, but curl has it only since 7.82.
    return f'curl -H "Authorization: Bearer $TOKEN" {JSON} -d {quote(body)} {url}'


def command(attempt: Row) -> str | None:
    """Return the curl command that sends the same request; None if its payload has been deleted.

    The signature is the original one, which is valid for this body only.
    """
    body = body_of(attempt)
    if body is None:
        return None
    # Without -g, curl would take brackets and braces in a URL for a pattern of several URLs.
    lines = ["curl -i -X POST -g"]
    for name, value in attempt["request_headers"].items():
        if name.lower() not in OWN:
            lines.append(f"-H {quote(f'{name}: {value}')}")
    text = body.decode("utf-8", "replace")
    # --data-raw, because --data would treat a leading @ as a file name.
    inline = len(body) <= MOST_INLINE and "\0" not in text
    lines.append(f"--data-raw {quote(text)}" if inline else "--data-binary @payload")
    return " \\\n  ".join([*lines, quote(attempt["url"])])
