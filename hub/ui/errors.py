"""Error pages: the message, and advice for the user."""

from hub.http.errors import Blocked, TooFast, message_of, status_of
from hub.rest.context import Services
from hub.rest.request import Request
from hub.ui.csrf import NotFromForm, OutOfDate
from hub.ui.section import RenderedPage
from store.errors import Invalid, Missing

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
    409: "",
    403: "Sign in with a token that has this right. An administrator can grant it. For hooks and"
    " deliveries, it is the role admin in the repository, and the scope read:repo_hook to view or"
    " write:repo_hook to make changes.",
    404: "It may have been deleted, also by retention, or you may not have access to it.",
    413: "Nothing was changed. In a form, each quotation mark, brace, comma and line break counts"
    " as three bytes. Go back: your browser still has your entries. Events with larger payloads can"
    " be posted through the API.",
    503: "The database is busy or cannot be reached. Try again in a moment. On the server,"
    " `tocsin doctor` shows more.",
}
AGAIN = "Go back and try again."
ELSE = f"{AGAIN} If the error persists, look up the request's id in the log."
# How the message of Missing begins if it is a sentence. Otherwise it is a noun, or has a colon.
SENTENCES = ("there is ", "hook ")
# These end by themselves, and the message says when.
LATER = (Blocked, TooFast)


KEPT = "Nothing was changed, and this page keeps your entries."
OF_EARLIER = f"This form is out of date. {KEPT}"
SIGNED_OUT = f"You are signed out. {KEPT} Sign in in another tab, and send the form again."
SIGNED_OUT_TOO_LARGE = (
    "You are signed out. Nothing was changed, but the form is too large for this page to keep your"
    " entries. Sign in in another tab, then go back: your browser still has them."
)


class NotSignedIn(Exception):
    """The user must sign in first."""


def failed(
    services: Services, request: Request, error: Exception, *, is_kept: bool
) -> RenderedPage:
    """Return the page of an error. If `is_kept`, it can send the form again."""
    services.metrics.refused(request, error)
    status = status_of(error)
    if is_kept and isinstance(error, OutOfDate):
        return _page("Send the form again", status, OF_EARLIER, may_repeat=True)
    message = _message(error, status, request.request_id)
    may_repeat = is_kept and (status >= 500 or isinstance(error, LATER))
    return _page(
        _title(error, status), status, message, _remedy(error, status), may_repeat=may_repeat
    )


def signed_out(*, is_kept: bool) -> RenderedPage:
    """Return the page for a form whose session has ended. If `is_kept`, it can send it again."""
    message = SIGNED_OUT if is_kept else SIGNED_OUT_TOO_LARGE
    return _page("Sign in again", 401, message, may_repeat=is_kept)


def _page(
    title: str, status: int, message: str, remedy: str = "", *, may_repeat: bool
) -> RenderedPage:
    shown = {"title": title, "message": message, "remedy": remedy, "may_repeat": may_repeat}
    return RenderedPage("failed.html", {**shown, "status": status}, status)


def _title(error: Exception, status: int) -> str:
    if isinstance(error, NotFromForm):
        return "The form was not accepted"
    if isinstance(error, LATER):
        return "Too many requests"
    return TITLES.get(status, "Something went wrong")


def _message(error: Exception, status: int, request_id: str) -> str:
    if isinstance(error, Invalid):
        return str(error)
    if isinstance(error, Missing):
        return _reason(error) or "There is nothing under this address."
    return message_of(error, status, request_id)


def _reason(error: Exception) -> str:
    """Return why something is missing. It is empty if the error only names it."""
    text = str(error)
    if not isinstance(error, Missing) or not (": " in text or text.startswith(SENTENCES)):
        return ""
    return f"{text[:1].upper()}{text[1:]}."


def _remedy(error: Exception, status: int) -> str:
    """Return the advice. It is empty if the message itself has it."""
    if isinstance(error, (NotFromForm, *LATER)) or _reason(error):
        return ""
    return REMEDIES.get(status, AGAIN if status < 500 else ELSE)
