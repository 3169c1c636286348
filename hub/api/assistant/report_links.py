"""Links to the files of reports, which anybody can follow who has one, for as long as it says."""

from collections.abc import Mapping
from urllib.parse import urlencode

from hub.http.errors import Forbidden
from hub.http.numbers import natural
from hub.rest.urls import Urls
from store import Connection, Row
from store.assistant import reports
from store.clock import SECOND

PURPOSE = "report link"
REFUSED = "The link is not one of this server, or its time is over: ask for the report again."


def link(db: Connection, urls: Urls, row: Row, seconds: int) -> str:
    """A link to a report's file that can be followed for so many seconds."""
    expires = db.now // SECOND + seconds
    signature = db.vault.sign(PURPOSE, _message(row, expires))
    query = urlencode({"expires": expires, "signature": signature})
    return f"{urls.root}/reports/{row['id']}?{query}"


def followed(db: Connection, number: str, query: Mapping[str, str]) -> Row:
    """The report that a link leads to. Forbidden where it was altered, or is over."""
    report_id, expires = natural(number), natural(query.get("expires", ""))
    if report_id is None or expires is None:
        raise Forbidden(REFUSED)
    row = reports.get(db, report_id)
    if row is None or expires <= db.now // SECOND:
        raise Forbidden(REFUSED)
    if not db.vault.signed(PURPOSE, _message(row, expires), query.get("signature", "")):
        raise Forbidden(REFUSED)
    return row


def _message(row: Row, expires: int) -> str:
    # The digest, because after a restore a number may be another report's.
    return f"{row['id']} {row['digest']} {expires}"
