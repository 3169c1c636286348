"""The WebSub hub at `POST /hub/websub` (W3C Recommendation), beside the platform's `POST /hub`."""

import logging

from hub.http.body import apart
from hub.http.errors import (
    Forbidden,
    HubError,
    Malformed,
    Unsupported,
    headers_of,
    status_of,
)
from hub.http.forms import URLENCODED, kind_of
from hub.http.response import Response, header
from hub.http.routing import Routes
from hub.http.topic_patterns import ForeignTopics
from hub.rest.context import Services
from hub.rest.middleware import wrap
from hub.rest.request import Request
from hub.websub import websub_form as form_of
from hub.websub.websub_form import WebSubForm
from hub.websub.websub_topics import PATH, TopicReader, hosted, hosted_topic_of, hub_url
from store import Connection
from store.delivery.websub import websub_foreign, websub_requests
from store.delivery.websub.websub_requests import RequestRateExceeded, WebSubRequest
from store.delivery.websub.websub_topics import Topic
from store.errors import StoreError, Unavailable

log = logging.getLogger("tocsin.hub")

TOO_MANY = 429
MOST_PUBLISHED = 20


def add(services: Services, routes: Routes) -> None:
    """Add the routes of the WebSub hub and its topics, if the setting `websub` is on."""
    if not services.settings.websub:
        return
    reader, prefix = TopicReader(services), services.urls.prefix
    works = {
        f"POST {PATH}": WebSubHub(services).post,
        "GET /{owner}/{repo}/events": reader.feed,
        "GET /{owner}/{repo}/events.json": reader.json_feed,
        "GET /{owner}/{repo}/events.atom": reader.atom_feed,
        "GET /{owner}/{repo}/events/{event}": reader.event,
    }
    for line, work in works.items():
        method, _, path = line.partition(" ")
        for served in {path, prefix + path}:
            routes.add(method, served, wrap(services, work, door="websub"))


class WebSubHub:
    """Accepts requests to the hub. A worker verifies them and delivers."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._foreign = ForeignTopics(services.settings.websub_topics)

    async def post(self, request: Request) -> Response:
        """Return 202 for a request that will be verified, 204 for a publication, or an error."""
        try:
            form = await self._form(request)
            if form.mode() == "publish":
                return await self._publish(form)
            return await self._ask(request, form)
        except (HubError, StoreError) as error:
            return refusal(error)

    async def _form(self, request: Request) -> WebSubForm:
        most = self._services.settings.max_body_bytes
        body = await self._services.body_reader.read_and_release(request, most)
        if kind_of(request.headers.get(b"content-type", b"")) != URLENCODED:
            raise Unsupported(f"the Content-Type must be {URLENCODED}")
        return await apart(body, WebSubForm, body)

    async def _ask(self, request: Request, form: WebSubForm) -> Response:
        settings = self._services.settings
        topic, callback = form.url("hub.topic"), form.url("hub.callback")
        host = form_of.host_of(callback)
        subscribes = form.mode() == "subscribe"
        of = await self._topic(topic)
        if form_of.names_address(host):
            # A worker checks a host name when it connects to it. A check here would tell the client
            # to which address the name resolves in this network.
            await self._services.callback_validator(callback)
        wish = WebSubRequest(
            mode=form.mode(),
            topic=topic,
            of=of,
            hub=hub_url(self._services),
            callback=callback,
            secret=form_of.secret_of(form) if subscribes else None,
            lease_seconds=self._lease(form) if subscribes else 0,
            verify_token=form_of.token_of(form),
            host=host,
            client=self._services.clients.address(request.scope),
        )
        most = settings.websub_requests_per_host, settings.websub_requests_per_client
        each = settings.hooks_per_event
        await self._services.store.write(websub_requests.create, wish, *most, each)
        return Response(202)

    def _lease(self, form: WebSubForm) -> int:
        settings = self._services.settings
        return form_of.lease_of(
            form,
            settings.websub_min_lease,
            settings.websub_default_lease,
            settings.websub_max_lease,
        )

    async def _topic(self, url: str) -> Topic:
        place = hosted_topic_of(self._services, url)
        if place is not None:
            return await self._services.store.read(hosted, self._services, place, url)
        topic = self._foreign.find(url)
        if topic is None:
            raise Forbidden("hub.topic is not served by this hub")
        return topic

    async def _publish(self, form: WebSubForm) -> Response:
        urls = form.every("hub.topic", "hub.url")
        if not urls or len(urls) > MOST_PUBLISHED:
            raise Malformed(f"publish 1 to {MOST_PUBLISHED} topics, in hub.topic or hub.url")
        topics = [await self._topic(form_of.checked_url("hub.topic", url)) for url in urls]
        # Changes of topics hosted here are known already.
        wanted = [topic for topic in topics if topic.repo_id == 0]
        if wanted:
            await self._services.store.write(_changed, wanted)
        return Response(204)


def _changed(db: Connection, topics: list[Topic]) -> None:
    for topic in topics:
        websub_foreign.mark_changed(db, topic)


def refusal(error: HubError | StoreError) -> Response:
    """Return the response to an error, in plain text."""
    status = status_of(error)
    text = str(error)
    if isinstance(error, Unavailable) or status == 500:
        log.error("a request to the WebSub hub failed: %s", error)
        text = "the hub cannot reach its data right now: try again in a moment"
    added = headers_of(error)
    if isinstance(error, RequestRateExceeded):
        status, added = TOO_MANY, [header("Retry-After", "60")]
    headers = [header("Content-Type", "text/plain; charset=utf-8"), *added]
    return Response(status, f"{text}\n".encode(), headers)
