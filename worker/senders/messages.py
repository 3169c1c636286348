"""The messages of the channel: their kinds, and the fields of requests and replies."""

from pathlib import Path
from typing import NamedTuple

from worker.http.answer import ExchangeResult
from worker.http.tls_contexts import TlsChoice, TlsMaterial
from worker.signing.signatures import SigningRequest

# Messages to the sender process, with their fields.
CONFIGURE = 0  # allowed networks, ports, how many idle connections are kept
BODY = 1  # number, bytes
FORGET = 2  # number of a body
SEND = 3  # the fields of a SendRequest
CANCEL = 4  # number of a request
# Messages to the worker, with their fields.
ANSWER = 5  # number of a request, the members of its result, and how many connections are open
READY = 7  # no fields
NOT_SENT = 6  # number of a request, the address to approve first or None, seconds it took to dial

# Seconds after which the worker has to decide again whether a request may be sent.
LATE = 1.0

TlsFields = bool | tuple[bool, str, str, str, bool, str]


def installed_program() -> tuple[int, int]:
    """Return a mark of the program's files. Another installation has another one."""
    status = Path(__file__).stat()
    return status.st_ino, status.st_mtime_ns


class SendRequest(NamedTuple):
    """A request that a sender process sends.

    `handed_over` is when the worker decided that it may be sent, in seconds of the monotonic clock.
    `approved` are the addresses to which it may be sent. `spent` are the seconds of the deadline
    that have passed already.
    """

    number: int
    scheme: str
    host: str
    port: int
    head: str
    body: int
    signing: SigningRequest
    deadline: float
    tls: TlsFields
    handed_over: float
    approved: tuple[str, ...]
    spent: float


def reply_of(number: int, result: ExchangeResult, connections: int) -> tuple[object, ...]:
    """Return the message with this result. `connections` is how many the process has open."""
    return (
        ANSWER, number, result.status, result.head, result.body, result.truncated, result.address,
        result.timings, result.error, result.signatures, connections,
    )  # fmt: skip


def tls_fields(choice: TlsChoice) -> TlsFields:
    if isinstance(choice, bool):
        return choice
    material = (choice.client_cert, choice.client_key, choice.ca)
    return (choice.verify, *material, choice.verify_hostname, choice.min_version)


def tls_of(fields: TlsFields) -> TlsChoice:
    return fields if isinstance(fields, bool) else TlsMaterial(*fields)
