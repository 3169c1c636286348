"""Links to the files of reports, which anybody can follow who has one, for as long as it says."""

import re
from collections.abc import Mapping
from urllib.parse import urlencode

from hub.errors import Forbidden
from hub.urls import Urls
from store import Connection, Row, reports
from store.clock import SECOND

PURPOSE = "report link"
NUMBER = re.compile(r"\d{1,15}")
REFUSED = "The link is not one of this server, or its time is over: ask for the report again."


def link(db: Connection, urls: Urls, row: Row, seconds: int) -> str:
    """A link to a report's file that can be followed for so many seconds."""
    expires = db.now // SECOND + seconds
    signature = db.vault.sign(PURPOSE, _message(row, expires))
    query = urlencode({"expires": expires, "signature": signature})
    return f"{urls.root}/reports/{row['id']}?{query}"


def followed(db: Connection, number: str, query: Mapping[str, str]) -> Row:
    """The report that a link leads to. Forbidden where it was altered, or is over."""
    expires = query.get("expires", "")
    if not NUMBER.fullmatch(number) or not NUMBER.fullmatch(expires):
        raise Forbidden(REFUSED)
    row = reports.get(db, int(number))
    if row is None or int(expires) <= db.now // SECOND:
        raise Forbidden(REFUSED)
    if not db.vault.signed(PURPOSE, _message(row, int(expires)), query.get("signature", "")):
        raise Forbidden(REFUSED)
    return row


def _message(row: Row, expires: int) -> str:
    # The digest, because after a restore a number may be another report's.
    return f"{row['id']} {row['digest']} {expires}"
