"""The handshake of CloudEvents' webhooks: the receiver's consent, and the rate that it grants."""

import socket
from dataclasses import dataclass

from worker.endpoint_access.access import EndpointAccess
from worker.endpoint_access.exchange import post
from worker.endpoint_access.token_cache import TokenCache
from worker.http.answer import ExchangeResult
from worker.http.endpoint import Endpoint, first_lines
from worker.http.tls_contexts import TlsChoice
from worker.http.transport import HttpSender
from worker.settings import WorkerSettings

ANY = b"*"
MINUTE = 60


@dataclass(frozen=True, slots=True)
class HandshakeRequest:
    """The request for consent. `deadline` is in seconds.

    `rate` is how many requests a second the hook may make. None means no limit.
    """

    endpoint: Endpoint
    verify_tls: TlsChoice
    access: EndpointAccess | None
    rate: float | None
    deadline: float
    origin: str
    user_agent: str

    def head(self) -> str:
        lines = first_lines("OPTIONS", self.endpoint, self.user_agent)
        lines.append(f"WebHook-Request-Origin: {self.origin}")
        if self.rate is not None:
            lines.append(f"WebHook-Request-Rate: {a_minute(self.rate)}")
        return "\r\n".join([*lines, "Content-Length: 0", "", ""])


def a_minute(rate: float) -> int:
    """Convert a rate in requests a second into whole requests a minute, at least one."""
    return max(1, int(rate * MINUTE))


@dataclass(frozen=True, slots=True)
class Consent:
    """The answer: the requests a minute that are allowed (None: any), or why there is none.

    If not `answered`, no answer came, and the receiver may still consent.
    """

    rate: int | None = None
    problem: str = ""
    answered: bool = True


def origin_of(settings: WorkerSettings) -> str:
    """Return the name by which receivers know this hub."""
    return settings.request_origin or socket.gethostname()


def origin_lines(origin: str) -> list[str]:
    """Return the header lines of each delivery after a handshake. Some receivers read `Origin`."""
    return [f"WebHook-Request-Origin: {origin}", f"Origin: {origin}"]


class Handshaker:
    """The client that asks receivers for their consent to deliveries."""

    def __init__(self, sender: HttpSender, tokens: TokenCache) -> None:
        self._sender, self._tokens = sender, tokens

    async def ask(self, request: HandshakeRequest) -> Consent:
        """Ask a receiver. Return its consent, or the problem if it does not consent."""
        answer = await post(
            self._sender,
            self._tokens,
            request.access,
            request.endpoint,
            request.head(),
            b"",
            request.deadline,
            request.verify_tls,
        )
        return read_consent(answer, request.origin, asked=request.rate is not None)


def read_consent(answer: ExchangeResult, origin: str, *, asked: bool) -> Consent:
    """Return the consent in an answer. `asked` says whether the request named a rate.

    The headers decide, whatever the status is.
    """
    if answer.error is not None or answer.status is None:
        return Consent(problem=answer.error or "no answer", answered=False)
    headers = dict(answer.fields())
    allowed = headers.get(b"webhook-allowed-origin")
    if allowed is None:
        return Consent(problem=f"the answer {answer.status} has no WebHook-Allowed-Origin")
    if allowed != ANY and allowed.lower() != origin.lower().encode():
        return Consent(problem=f"the receiver allows another origin than {origin}")
    return _rate(headers.get(b"webhook-allowed-rate"), asked=asked)


def _rate(allowed: bytes | None, *, asked: bool) -> Consent:
    if allowed is None:
        problem = "the answer has no WebHook-Allowed-Rate, for which the request asked"
        return Consent(problem=problem if asked else "")
    if allowed == ANY:
        return Consent()
    if not allowed.isdigit() or not 0 < int(allowed[:10]) <= 1_000_000_000:
        return Consent(problem="WebHook-Allowed-Rate is no positive number")
    return Consent(int(allowed[:10]))
