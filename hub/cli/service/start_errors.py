"""The errors with which a start would end, found without a start.

They are in files that the settings name, and that a start reads.
"""

from collections.abc import Callable, Iterator

from hub import admin_settings, openid_settings
from hub.cli.service import tls
from hub.cli.service.configuration import Settings
from store.errors import StoreError
from store.mail import settings as mail_settings

Check = Callable[[Settings], object]

CHECKS: tuple[Check, ...] = (
    admin_settings.token_of,
    openid_settings.client_secret,
    openid_settings.tls_context,
    mail_settings.password_of,
    tls.tls_of,
)
"""Each reads the files of some settings, and raises a StoreError if one is wrong."""


def start_errors(settings: Settings) -> Iterator[str]:
    """Yield the error of each file that is missing or wrong."""
    for check in CHECKS:
        try:
            check(settings)
        except StoreError as error:
            yield str(error)
