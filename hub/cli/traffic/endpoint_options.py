"""Options of `tocsin hook` for the access to an endpoint, with secrets read from files."""

from pathlib import Path

from store.endpoint_access import static_headers
from store.errors import Invalid

NAMES = ("headers",)
"""The delivery options that may hold secrets."""
FROM_FILE = "@"


def read_headers(lines: tuple[str, ...]) -> dict[str, str]:
    """Return headers by name. A value of `@FILE` is the text of this file."""
    found: dict[str, str] = {}
    for line in lines:
        name, value = static_headers.read_line(line)
        if name in found:
            raise Invalid(f"headers: {name} is given twice")
        found[name] = _from_file(value[1:]) if value.startswith(FROM_FILE) else value
    return found


def _from_file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Invalid(f"{path} cannot be read: {reason}") from None
