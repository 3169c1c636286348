"""Error pages: the message, and advice for the user."""

from hub.http.errors import message_of, status_of
from hub.rest.context import Services
from hub.rest.request import Request
from hub.ui.section import RenderedPage
from store.errors import Invalid

TITLES = {
    400: "The request could not be read",
    403: "You do not have access",
    404: "Not found",
    408: "The request took too long",
    409: "Conflict",
    413: "The request is too large",
    422: "That is not possible",
    503: "Temporarily unavailable",
}
REMEDIES = {
    403: "Sign in with a token that has this right. An administrator can grant it. For hooks and"
    " deliveries, it is the role admin in the repository, and the scope read:repo_hook to view or"
    " write:repo_hook to make changes.",
    404: "It may have been deleted, also by retention, or you may not have access to it.",
    503: "The database is busy or cannot be reached. Try again in a moment. On the server,"
    " `tocsin doctor` shows more.",
}
ELSE = "Go back and try again. If the error persists, look up the request's id in the log."


class NotSignedIn(Exception):
    """The user must sign in first."""


def failed(services: Services, request: Request, error: Exception) -> RenderedPage:
    """Return the page for an error."""
    services.measures.refused(request, error)
    status = status_of(error)
    message = (
        str(error) if isinstance(error, Invalid) else message_of(error, status, request.request_id)
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
