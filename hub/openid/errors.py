"""Why somebody could not sign in."""


class SignInFailed(Exception):
    """The sign-in failed. The message is for the person who tried.

    `status` is the status of the page. `refused` is false if the provider could not be reached or
    sent an unusable answer.
    """

    status = 403
    refused = True


class ProviderUnavailable(SignInFailed):
    """The provider did not answer, or its answer cannot be used."""

    status = 502
    refused = False
