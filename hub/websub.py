"""`POST /hub/websub`: a hub as the W3C Recommendation WebSub has it, beside the platform's own."""

import logging

from hub import websub_form as form_of
from hub.answers import Answer, header
from hub.call import Call
from hub.context import House
from hub.endpoint import endpoint
from hub.errors import HEADERS, STATUSES, Forbidden, HubError, Malformed, Unsupported
from hub.forms import URLENCODED, kind_of
from hub.routing import Routes
from hub.websub_form import Form
from hub.websub_topics import Foreign, Reader, hosted, hub_url, place_of
from store import Connection, websub_foreign, websub_requests
from store.errors import Busy, StoreError, Unavailable
from store.websub_requests import Flood, Wish
from store.websub_topics import Topic

log = logging.getLogger("tocsin.hub")

PATH = "/hub/websub"
TOO_MANY = 429
MOST_PUBLISHED = 20


def add(house: House, routes: Routes) -> None:
    """Serve the hub and its topics, where the setting says so."""
    if not house.settings.websub:
        return
    reader, prefix = Reader(house), house.urls.prefix
    works = {
        f"POST {PATH}": Hub(house).post,
        "GET /{owner}/{repo}/events": reader.feed,
        "GET /{owner}/{repo}/events.json": reader.json_feed,
        "GET /{owner}/{repo}/events.atom": reader.atom_feed,
        "GET /{owner}/{repo}/events/{event}": reader.event,
    }
    for line, work in works.items():
        method, _, path = line.partition(" ")
        for served in {path, prefix + path}:
            routes.add(method, served, endpoint(house, work, door="websub"))


class Hub:
    """Takes requests in; what becomes of them is the worker's."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._foreign = Foreign(house.settings.websub_topics)

    async def post(self, call: Call) -> Answer:
        """202 for a request that will be verified, 204 for a publisher's, or why not, in words."""
        try:
            form = await self._form(call)
            if form.mode() == "publish":
                return await self._publish(form)
            return await self._ask(call, form)
        except (HubError, StoreError) as error:
            return refusal(error)

    async def _form(self, call: Call) -> Form:
        intake, most = self._house.intake, self._house.settings.max_body_bytes
        body = await intake.read(call.headers, call.receive, most)
        intake.give_back(len(body))
        if kind_of(call.headers.get(b"content-type", b"")) != URLENCODED:
            raise Unsupported(f"the Content-Type must be {URLENCODED}")
        return Form(body)

    async def _ask(self, call: Call, form: Form) -> Answer:
        settings = self._house.settings
        topic, callback = form.url("hub.topic"), form.url("hub.callback")
        host = form_of.host_of(callback)
        subscribes = form.mode() == "subscribe"
        of = await self._topic(topic)
        if form_of.names_address(host):
            # A name is judged when it is dialled: what it stands for here is nobody's business.
            await self._house.judge(callback)
        wish = Wish(
            mode=form.mode(),
            topic=topic,
            of=of,
            hub=hub_url(self._house),
            callback=callback,
            secret=form_of.secret_of(form) if subscribes else None,
            lease_seconds=self._lease(form) if subscribes else 0,
            verify_token=form_of.token_of(form),
            host=host,
            client=self._house.clients.address(call.scope),
        )
        most = settings.websub_requests_per_host, settings.websub_requests_per_client
        await self._house.store.write(websub_requests.ask, wish, *most)
        return Answer(202)

    def _lease(self, form: Form) -> int:
        settings = self._house.settings
        return form_of.lease_of(
            form,
            settings.websub_min_lease,
            settings.websub_default_lease,
            settings.websub_max_lease,
        )

    async def _topic(self, url: str) -> Topic:
        place = place_of(self._house, url)
        if place is not None:
            return await self._house.store.read(hosted, self._house, place, url)
        topic = self._foreign.find(url)
        if topic is None:
            raise Forbidden("hub.topic is none of the topics that this hub serves")
        return topic

    async def _publish(self, form: Form) -> Answer:
        urls = form.every("hub.topic", "hub.url")
        if not urls or len(urls) > MOST_PUBLISHED:
            raise Malformed(f"publish 1 to {MOST_PUBLISHED} topics, in hub.topic or hub.url")
        topics = [await self._topic(form_of.checked_url("hub.topic", url)) for url in urls]
        # Of the topics hosted here it is known already.
        wanted = [topic for topic in topics if topic.repo_id == 0]
        if wanted:
            await self._house.store.write(_changed, wanted)
        return Answer(204)


def _changed(db: Connection, topics: list[Topic]) -> None:
    for topic in topics:
        websub_foreign.changed(db, topic)


def refusal(error: HubError | StoreError) -> Answer:
    """An error in plain text."""
    status = next((STATUSES[kind] for kind in type(error).mro() if kind in STATUSES), 500)
    text = str(error)
    if isinstance(error, Unavailable) or status == 500:
        log.error("a request to the WebSub hub was put off: %s", error)
        text = "the hub cannot get at its data right now: try again in a moment"
    headers = [header("Content-Type", "text/plain; charset=utf-8"), *HEADERS.get(type(error), ())]
    if isinstance(error, Flood):
        status = TOO_MANY
    if isinstance(error, Busy):
        headers.append(header("Retry-After", "60" if status == TOO_MANY else "5"))
    return Answer(status, f"{text}\n".encode(), headers)
