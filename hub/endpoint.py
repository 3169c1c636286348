"""Where requests meet the work of a path, whatever it is: what goes wrong is answered, all is timed
and counted, and what every answer bears is put on it.
"""

import os
import time
from collections.abc import Mapping

from starlette.types import Receive, Scope, Send

from hub import access_log, cors
from hub.answers import Answer, Header, header
from hub.call import Call, Work
from hub.context import House
from hub.errors import ClientGone, Moved, Unsigned, error_answer, moved_answer
from hub.routing import Endpoint
from store.about import ABOUT

VARY: Header = (
    b"vary",
    b"Accept, Authorization, Cookie, X-Service-OTP, Accept-Encoding, X-Requested-With,"
    b" X-Service-Api-Version, X-GitHub-Api-Version",
)
API: tuple[Header, ...] = (*cors.HEADERS, VARY)
# What a request is counted as whose client went away: it has no answer.
GONE = 499


def endpoint(
    house: House,
    work: Work,
    reference: str = "",
    *,
    told: tuple[Header, ...] = (),
    door: str = "other",
) -> Endpoint:
    """Where requests meet `work`: whatever goes wrong in it is answered as the API's errors are.

    `reference` is the operation's place in the documentation; `told` goes with every answer, and
    is API for what belongs to the API; `door` is what its requests are counted under.
    """
    documented = house.documentation + reference

    async def run(scope: Scope, receive: Receive, send: Send, values: Mapping[str, str]) -> None:
        request_id = os.urandom(16).hex()
        call = Call(scope, receive, values, request_id)
        ABOUT.set({"request_id": request_id})
        began = time.perf_counter()
        try:
            answer = await work(call)
        except ClientGone:
            house.measures.answered(door, GONE, time.perf_counter() - began)
            return
        except Exception as error:  # the one place that answers for all of them
            answer = _failed(house, call, error, documented, request_id)
        finally:
            if house.limits is not None and told:
                house.limits.end(call.ticket)
        seconds = time.perf_counter() - began
        house.measures.answered(door, answer.status, seconds)
        if house.settings.access_log:
            access_log.note(house, call, answer.status, seconds)
        answer.headers.append((b"x-service-request-id", request_id.encode()))
        answer.headers += call.told
        if told:
            answer.headers += told
            _tell(call, answer)
            if house.vocabulary:
                house.vocabulary.outward(answer)
        await answer(scope, receive, send)

    return run


def _failed(house: House, call: Call, error: Exception, documented: str, request_id: str) -> Answer:
    if isinstance(error, Moved):
        return moved_answer(error, call.scope["method"], documented)
    house.measures.refused(call, error)
    answer = error_answer(error, documented, request_id)
    if isinstance(error, Unsigned):
        url = house.urls.single_sign_on(error.organization)
        answer.headers.append(header("X-Service-SSO", f"required; url={url}"))
    return answer


def _tell(call: Call, answer: Answer) -> None:
    if call.ticket is not None:
        answer.headers += call.ticket.status.headers()
    if call.version is not None:
        answer.headers.append((b"x-service-api-version-selected", call.version.encode()))
    answer.headers.append((b"x-service-media-type", call.media.told.encode()))
