"""Why somebody could not sign in."""

from collections.abc import Mapping


class SignInFailed(Exception):
    """The sign-in failed. The message is for the person who tried.

    `status` is the status of the page. `refused` is false if the provider could not be reached or
    sent an unusable answer.
    """

    status = 403
    refused = True


class WrongSubject(SignInFailed):
    """The provider gave the name of a user here to another person than the user's own subject."""

    def __init__(self, login: str, link_id: int, subject: str) -> None:
        super().__init__(
            "The user whom your provider names belongs to another person there. If that is wrong, a"
            " site administrator can remove the link between the two: tocsin user openid list."
        )
        self.login = login
        self.link_id = link_id
        self.subject = subject


class ProviderUnavailable(SignInFailed):
    """The provider did not answer, or its answer cannot be used."""

    status = 502
    refused = False


def reason(answer: Mapping[str, object], default: str = "") -> str:
    """Return the error in a provider's answer (RFC 6749, 4.1.2.1 and 5.2) with its description."""
    error, why = str(answer.get("error", default))[:100], answer.get("error_description")
    return f"{error} ({str(why)[:200].rstrip('.')})" if why else error
