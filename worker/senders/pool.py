"""The sender of deliveries that uses more than one core.

It sends in this process while there is little to do, and under load in sender processes.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from worker.http.answer import ExchangeResult, Withheld
from worker.http.endpoint import Endpoint
from worker.http.tls_contexts import TlsChoice
from worker.http.transport import Transport
from worker.senders.child import NotSent, SenderChild
from worker.senders.messages import LATE
from worker.senders.supervisor import SenderSupervisor
from worker.signing.signatures import SigningRequest, sign

# Hosts whose address is remembered.
MOST_ADDRESSES = 4096
# How often a request is handed over, at most.
MOST_ROUNDS = 8
# The largest body that is handed over. The copies of a larger one take as long as sending it.
MOST_BODY = 128 * 1024


class SenderPool:
    """A sender with sender processes. See HttpSender (worker.http.transport).

    `transport` sends while there is little to do, and while no process is ready.
    """

    def __init__(self, transport: Transport, supervisor: SenderSupervisor) -> None:
        self._transport, self._supervisor = transport, supervisor
        # A request that is signed already is sent in this process.
        self.post = transport.post
        self._in_flight = 0
        self._addresses: OrderedDict[str, str] = OrderedDict()

    async def post_unsigned(
        self,
        endpoint: Endpoint,
        head: str,
        body: bytes,
        signing: SigningRequest,
        *,
        deadline: float,
        verify_tls: TlsChoice = True,
        may_send: Callable[[], bool] | None = None,
        may_reach: Callable[[str], bool] | None = None,
    ) -> ExchangeResult:
        """Sign and send a request. The result has the header lines that were added.

        `head` has the mark `UNSIGNED` (worker.signing.signatures) in the place of the signatures.
        All else is as in HttpSender.
        """
        self._in_flight += 1
        spent = 0.0
        try:
            child = self._choose(body)
            if child is not None:
                send = partial(child.request, endpoint, head, body, signing, deadline, verify_tls)
                try:
                    result = await self._hand_over(
                        send, endpoint.host, deadline, may_send, may_reach
                    )
                except NotSent as not_sent:
                    spent = not_sent.seconds
                else:
                    # If the process has ended, the signatures are made here, for the record.
                    result.signatures = result.signatures or sign("", signing, body)[1]
                    return result
            signed, lines = sign(head, signing, body)
            result = await self._transport.post(
                endpoint,
                signed.encode("latin-1"),
                body,
                deadline=deadline,
                verify_tls=verify_tls,
                may_send=may_send,
                may_reach=may_reach,
                spent=spent,
            )
            result.signatures = lines
            return result
        finally:
            self._in_flight -= 1

    def _choose(self, body: bytes) -> SenderChild | None:
        # If nothing else is under way, the way to a process would only cost time.
        if self._in_flight == 1 or len(body) > MOST_BODY:
            return None
        return self._supervisor.choose()

    async def _hand_over(
        self,
        send: Callable[[Sequence[str], float], Awaitable[ExchangeResult]],
        host: str,
        deadline: float,
        may_send: Callable[[], bool] | None,
        may_reach: Callable[[str], bool] | None,
    ) -> ExchangeResult:
        """Let a process send a request. It asks about each address that is not approved yet.

        The deadline covers the dialling of all rounds together. Raises NotSent with its seconds if
        there were too many rounds, because the name may lead to another address each time, and if
        the process has too much to do. The receiver has no part in that, so its time does not
        count.
        """
        approved: list[str] = []
        spent, address = 0.0, self._addresses.get(host)
        for _ in range(MOST_ROUNDS):
            if address is not None:
                if may_reach is not None and not may_reach(address):
                    raise Withheld
                approved.append(address)
            if may_send is not None and not may_send():
                raise Withheld
            try:
                result = await send(approved, spent)
            except NotSent as not_sent:
                address = not_sent.address
                spent += not_sent.seconds
                if spent >= deadline:
                    late = f"timeout: connect: not done within {deadline:g} s"
                    return ExchangeResult.failed(late)
                if address is None and not_sent.seconds < LATE:
                    break
            else:
                self._remember(host, result)
                return result
        raise NotSent(None, spent)

    def _remember(self, host: str, result: ExchangeResult) -> None:
        if result.address is None or self._addresses.get(host) == result.address:
            return
        self._addresses[host] = result.address
        if len(self._addresses) > MOST_ADDRESSES:
            self._addresses.popitem(last=False)
