"""What people are told when something goes wrong: what it was, and what they can do about it."""

from hub.http.errors import message_of, status_of
from hub.rest.context import Services
from hub.rest.request import Request
from hub.ui.section import RenderedPage
from store.errors import Invalid

TITLES = {
    400: "That could not be read",
    403: "That is not yours to see",
    404: "There is nothing here",
    408: "That took too long",
    409: "Something else was faster",
    413: "That is too much",
    422: "That cannot be done",
    503: "Not right now",
}
REMEDIES = {
    403: "Sign in with a token of somebody who administers the repository: its scope has to be"
    " read:repo_hook to look, write:repo_hook to change something.",
    404: "It may have been deleted, or retention has let go of it; or it is not yours to see.",
    503: "The database is busy or cannot be reached. Try again in a moment; on the machine"
    " `tocsin doctor` says more.",
}
ELSE = "Go back and try again. If it stays so, the log has more under the request's id."


class NotSignedIn(Exception):
    """Somebody has to sign in first."""


def failed(house: Services, call: Request, error: Exception) -> RenderedPage:
    """The page of an error."""
    house.measures.refused(call, error)
    status = status_of(error)
    message = (
        str(error) if isinstance(error, Invalid) else message_of(error, status, call.request_id)
    )
    return RenderedPage(
        "failed.html",
        {
            "title": TITLES.get(status, "Something went wrong"),
            "status": status,
            "message": message,
            "remedy": REMEDIES.get(status, ELSE),
        },
        status,
    )
