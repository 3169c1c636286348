"""The interfaces through which the worker publishes: events about its changes, and mails."""

from collections.abc import Callable, Sequence
from email.message import EmailMessage

from store import Connection, Row

EventEmitter = Callable[[Connection, str, Sequence[Row]], None]
"""`emit(db, "name.action", rows)` writes an event of each row, in the transaction that changed it.

The hub provides it, because the hub knows how events are serialized.
"""

MailComposer = Callable[[Connection, Row], EmailMessage | None]
"""`compose(db, mail)` returns a mail of the outbox with its headers and its text.

It returns None if the mail has nothing to say any more. The hub provides it, because the hub knows
the links.
"""
