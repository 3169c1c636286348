"""The syntax of email addresses (RFC 5321, RFC 6531), and their normal form."""

import re
import unicodedata

# In octets: the address that fits into a path (RFC 5321, section 4.5.3.1.3). Servers accept longer
# parts before the @ than the 64 octets of that RFC.
MOST = 254
ATOM = r"[\w!#$%&'*+/=?^`{|}~-]+"
# Mail programs decode `=?...?=` in headers (RFC 2047), so it would be another address there.
LOCAL = re.compile(rf"(?!.*=\?){ATOM}(?:\.{ATOM})*")


def normalize(address: str) -> str:
    """Return the address with its domain in lower case and in Unicode.

    Raises ValueError, which says what is wrong, if it is not an address.
    """
    local, at, domain = unicodedata.normalize("NFC", address).rpartition("@")
    if not at:
        raise ValueError("it has no @")
    if not LOCAL.fullmatch(local):
        raise ValueError("the part before the @ has characters or periods that are not allowed")
    normal = f"{local}@{_domain(domain)}"
    if len(normal.encode()) > MOST:
        raise ValueError(f"it is longer than {MOST} octets")
    return normal


def to_ascii(address: str) -> str:
    """Return a normalized address with its domain in ASCII, as mail servers take it."""
    import idna

    local, _, domain = address.rpartition("@")
    return f"{local}@{idna.encode(domain, uts46=True, std3_rules=True).decode()}"


def _domain(domain: str) -> str:
    import idna

    if not domain.isprintable():
        raise ValueError("the part after the @ has invisible characters")
    try:
        encoded = idna.encode(domain, uts46=True, std3_rules=True).decode()
        shown = idna.decode(encoded)
    except (idna.IDNAError, UnicodeError):
        raise ValueError("the part after the @ is no domain name") from None
    *labels, top = encoded.split(".")
    if not labels or not top or top.isdecimal():
        raise ValueError("the part after the @ has no top-level domain")
    return shown
