"""An extension of hg that keeps it to http and https, which the proxy of the worker serves.

Python follows redirects to ftp too, and requests them without a proxy. hg's own Python runs it, so
it uses nothing but hg and Python.
"""

from typing import Any
from urllib.error import URLError
from urllib.request import FTPHandler

testedwith = b"6.9 7.2"


class NoFtp(FTPHandler):
    """A handler that takes the place of Python's own and refuses each request."""

    def ftp_open(self, req: Any) -> Any:
        raise URLError("the server redirects to ftp, which is refused")


def extsetup(ui: Any) -> None:
    """Give the handler to each opener that hg makes."""
    from mercurial import url

    url.handlerfuncs.append(lambda ui, passwords: NoFtp())
