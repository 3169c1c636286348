"""The reasons for which a mail was not sent."""


class MailRejected(Exception):
    """The server will never accept this mail."""


class Delayed(Exception):
    """The server does not accept this mail now."""


class ServerUnusable(Exception):
    """No mail can be sent now: the server is not there, or it does not accept the settings."""
