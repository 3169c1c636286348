"""The headers of every page: nothing is loaded from other sites, and nothing is cached."""

from hub.http.response import HTML, Header

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    b" connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
SAFE: tuple[Header, ...] = (
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"private, no-store"),
)
PAGE: tuple[Header, ...] = (HTML, *SAFE)
LASTING: tuple[Header, ...] = (*SAFE[:-1], (b"cache-control", b"public, no-cache"))
"""The headers of pages that are the same for everybody: browsers store and revalidate them."""
