"""Options of `tocsin hook` for the access to an endpoint, with secrets read from files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from store.endpoint_access import oauth2, static_headers
from store.errors import Invalid

NAMES = ("headers", "tls", "oauth2")
"""The delivery options that may hold secrets."""
FROM_FILE = "@"
DEFAULT = "default"
GROUPS = ("tls", "oauth2")
"""The delivery options whose members are options of their own: `tls_ca` is the member `ca`."""

OPTIONS = (
    click.option(
        "--header",
        "headers",
        metavar="LINE",
        multiple=True,
        help="A header of each request, in place of the present ones; repeatable."
        " `Name: @FILE` reads the value from a file.",
    ),
    click.option("--client-cert", "tls_client_cert", metavar="FILE",
                 help="The client certificate in PEM, with its intermediate certificates."),
    click.option("--client-key", "tls_client_key", metavar="FILE",
                 help="The private key of the client certificate in PEM."),
    click.option("--ca", "tls_ca", metavar="FILE",
                 help="Certificate authorities in PEM to trust in place of the system's."),
    click.option("--verify-hostname", "tls_verify_hostname", metavar="yes|no",
                 help="Whether the receiver's certificate must have the host name."
                      "  [default: yes]"),
    click.option("--min-tls", "tls_min_version", metavar="1.2|1.3",
                 help="The lowest version of TLS."),
    click.option("--handshake", metavar="none|cloudevents",
                 help="Whether the receiver must consent before it gets deliveries."
                      "  [default: none]"),
    click.option("--oauth2-token-url", metavar="URL", help="Where access tokens are requested."),
    click.option("--oauth2-client-id", metavar="ID", help="The client id for access tokens."),
    click.option("--oauth2-client-secret", metavar="FILE", help="A file with the client secret."),
    click.option("--oauth2-private-key", metavar="FILE",
                 help="The private key in PEM, for the method private_key_jwt."),
    click.option("--oauth2-key-id", metavar="ID", help="The id of the private key."),
    click.option("--oauth2-method", metavar="NAME",
                 help=f"{oauth2.BASIC}, {oauth2.POST} or {oauth2.ASSERTION}."
                      f"  [default: {oauth2.BASIC}]"),
    click.option("--oauth2-scope", metavar="TEXT", help="The scope of access tokens."),
    click.option("--oauth2-audience", metavar="TEXT", help="The audience of access tokens."),
)  # fmt: skip


def read_headers(lines: tuple[str, ...]) -> dict[str, str]:
    """Return headers by name. The text of the file replaces a value of `@FILE`.

    Raises Invalid if a name is given twice or a file cannot be read.
    """
    found: dict[str, str] = {}
    for line in lines:
        name, value = static_headers.read_line(line)
        if name in found:
            raise Invalid(f"headers: {name} is given twice")
        found[name] = _text(value[1:]) if value.startswith(FROM_FILE) else value
    return found


def grouped(given: dict[str, Any]) -> dict[str, Any]:
    """Return the given options by name, with the members of a group in a dict under its name."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        group, _, member = name.partition("_")
        if group in GROUPS:
            found.setdefault(group, {})[member] = value
        else:
            found[name] = value
    return found


def combined(before: dict[str, Any] | None, members: dict[str, str]) -> dict[str, Any] | None:
    """Return a group after changes of its members, or None if no member is left.

    The value `default` removes a member.
    """
    found = dict(before or {})
    for name, value in members.items():
        found.pop(name, None)
        if value != DEFAULT:
            found[name] = READERS.get(name, str)(value)
    return found or None


def _text(path: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Invalid(f"{path} cannot be read: {reason}") from None
    if not text:
        # Without its text, the hook would connect as if the option were not set.
        raise Invalid(f"{path} is empty")
    return text


def _yes(word: str) -> bool:
    if word not in ("yes", "no"):
        raise Invalid(f"verify_hostname: say yes or no, not {word!r}")
    return word == "yes"


READERS: dict[str, Callable[[str], Any]] = {
    "client_cert": _text,
    "client_key": _text,
    "ca": _text,
    "client_secret": _text,
    "private_key": _text,
    "verify_hostname": _yes,
}
