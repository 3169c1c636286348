"""What is for administrators, `/metrics` and the details of health, and what probes are told."""

from hub.admins import Admins
from hub.answers import Answer
from hub.call import Call, Work
from hub.context import House
from hub.endpoint import endpoint
from hub.health import Health, told
from hub.metrics import metrics
from hub.routing import Routes
from hub.seeing import Seeing
from store.errors import Missing

DETAIL = "verbose"


def add(house: House, routes: Routes, seeing: Seeing, admins: Admins, *, here: bool) -> None:
    """Answer probes, and, if that is `here`, administrators."""
    surface = Surface(house, seeing, admins if here else None)
    works = {"/healthz": surface.healthz, "/readyz": surface.readyz}
    if here:
        works["/metrics"] = surface.metrics
    for path, work in works.items():
        routes.add("GET", path, endpoint(house, work, door="admin"))


class Surface:
    """What is seen from outside. Without `admins` nobody is one."""

    def __init__(self, house: House, seeing: Seeing, admins: Admins | None) -> None:
        self._health = Health(seeing, house.settings.ready_lag)
        self._metrics: Work = metrics(seeing)
        self._admins = admins

    async def healthz(self, call: Call) -> Answer:
        """200 while it lives, 503 when it had better be restarted."""
        detail = await self._detailed(call)
        return told(await self._health.alive(), detail=detail)

    async def readyz(self, call: Call) -> Answer:
        """200 while it does what it is there for, 503 while it does not."""
        detail = await self._detailed(call)
        return told(await self._health.ready(), detail=detail)

    async def metrics(self, call: Call) -> Answer:
        """All that is counted."""
        await self._check(call)
        return await self._metrics(call)

    async def _detailed(self, call: Call) -> bool:
        if DETAIL not in call.query:
            return False
        await self._check(call)
        return True

    async def _check(self, call: Call) -> None:
        if self._admins is None:
            raise Missing("path")
        await self._admins.check(call)
