"""The wrapper around every endpoint: error responses, metrics, access log and common headers."""

import asyncio
import os
import time
from collections.abc import Mapping

from starlette.types import Receive, Scope, Send

from hub.http import cors
from hub.http.error_headings import place_of
from hub.http.errors import (
    ClientGone,
    MovedPermanently,
    SignOnRequired,
    error_response,
    moved_response,
)
from hub.http.response import Header, Response, header
from hub.http.routing import Endpoint
from hub.rest import access_log
from hub.rest.authenticate import count_wrong_token
from hub.rest.context import Services
from hub.rest.request import Handler, Request
from store.database.log_context import LOG_CONTEXT
from store.errors import Unavailable

VARY: Header = (
    b"vary",
    b"Accept, Authorization, Cookie, X-Service-OTP, Accept-Encoding, X-Requested-With,"
    b" X-Service-Api-Version, X-GitHub-Api-Version",
)
API: tuple[Header, ...] = (*cors.HEADERS, VARY)
# The status counted for a request whose client disconnected before the response.
CLIENT_CLOSED_REQUEST = 499


def wrap(
    services: Services,
    work: Handler,
    reference: str = "",
    *,
    headers: tuple[Header, ...] = (),
    door: str = "other",
) -> Endpoint:
    """Return an endpoint that answers the errors of `work` as API errors.

    `reference` is the operation's place in the manual. `headers` are added to every
    response; endpoints of the API pass the constant API. `door` is the metrics label of its
    requests.
    """

    async def run(scope: Scope, receive: Receive, send: Send, values: Mapping[str, str]) -> None:
        request_id = os.urandom(16).hex()
        request = Request(scope, receive, values, request_id)
        LOG_CONTEXT.set({"request_id": request_id})
        began = time.perf_counter()
        try:
            answer = await work(request)
        except ClientGone:
            services.metrics.observe_request(
                door, CLIENT_CLOSED_REQUEST, time.perf_counter() - began
            )
            return
        except asyncio.CancelledError:
            # The server cancels what is still running some seconds after the signal to end.
            stopped = Unavailable("the hub ends, and waits no longer for the database")
            answer = _failed(services, request, stopped, reference, request_id)
        except Exception as error:  # the one place where all errors are answered
            # A name for the error would keep it, and the request's body with it, for the garbage
            # collector.
            answer = _failed(
                services,
                request,
                await count_wrong_token(services, request, error),
                reference,
                request_id,
            )
        finally:
            if services.limits is not None and (headers or request.counted):
                services.limits.end(request.rate_charge)
        seconds = time.perf_counter() - began
        services.metrics.observe_request(door, answer.status, seconds)
        if services.settings.access_log:
            access_log.record(services, request, answer.status, seconds)
        answer.headers.append((b"x-service-request-id", request_id.encode()))
        answer.headers += request.response_headers
        answer.headers += request.caller_headers
        if headers:
            answer.headers += headers
            _add_api_headers(request, answer)
            if services.vocabulary:
                services.vocabulary.translate_response(answer)
        await answer(scope, receive, send)

    return run


def _failed(
    services: Services, request: Request, error: Exception, reference: str, request_id: str
) -> Response:
    documented = services.documentation + place_of(error, reference)
    if isinstance(error, MovedPermanently):
        return moved_response(error, request.scope["method"], documented)
    services.metrics.refused(request, error)
    answer = error_response(error, documented, request_id)
    if isinstance(error, SignOnRequired):
        url = services.urls.single_sign_on(error.organization)
        answer.headers.append(header("X-Service-SSO", f"required; url={url}"))
    return answer


def _add_api_headers(request: Request, answer: Response) -> None:
    if request.rate_charge is not None:
        answer.headers += request.rate_charge.status.headers()
    if request.version is not None:
        answer.headers.append((b"x-service-api-version-selected", request.version.encode()))
    answer.headers.append((b"x-service-media-type", request.media.header_value.encode()))
