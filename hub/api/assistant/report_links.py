"""Signed links to report files. Anybody who has a link can use it until it expires."""

from collections.abc import Mapping
from urllib.parse import urlencode

from hub.http.errors import Forbidden
from hub.http.numbers import natural
from hub.rest.urls import Urls
from store import Connection, Row
from store.assistant import reports
from store.clock import DAY, HOUR, SECOND

# A link that ends later than any can was made while the clock was fast. Times are microseconds.
LONGEST = 7 * DAY + HOUR
PURPOSE = "report link"
REFUSED = "The link was not issued by this server, or it has expired: request the report again."


def link(db: Connection, urls: Urls, row: Row, seconds: int) -> str:
    """Return a link to a report's file that is valid for `seconds`."""
    expires = db.now // SECOND + seconds
    signature = db.vault.sign(PURPOSE, _message(row, expires))
    query = urlencode({"expires": expires, "signature": signature})
    return f"{urls.root}/reports/{row['id']}?{query}"


def followed(db: Connection, number: str, query: Mapping[str, str]) -> Row:
    """Return the report that a link leads to. Raises Forbidden if it was altered or has expired."""
    report_id, expires = natural(number), natural(query.get("expires", ""))
    if report_id is None or expires is None:
        raise Forbidden(REFUSED)
    row = reports.get(db, report_id)
    if row is None or not db.now < expires * SECOND <= db.now + LONGEST:
        raise Forbidden(REFUSED)
    if not db.vault.signed(PURPOSE, _message(row, expires), query.get("signature", "")):
        raise Forbidden(REFUSED)
    return row


def _message(row: Row, expires: int) -> str:
    # The digest is signed too, as an id may be another report's after a restore.
    return f"{row['id']} {row['digest']} {expires}"
