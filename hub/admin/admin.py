"""The endpoints for administrators, `/metrics` and the details of health, and for health probes."""

from hub.admin.administrators import AdminAuth
from hub.admin.health import Health, report
from hub.admin.metrics import metrics
from hub.admin.observability import Observability
from hub.http.response import Response
from hub.http.routing import Routes
from hub.rest.context import Services
from hub.rest.middleware import wrap
from hub.rest.request import Handler, Request
from store.errors import Missing

DETAIL = "verbose"


def add(
    services: Services,
    routes: Routes,
    observability: Observability,
    admins: AdminAuth,
    *,
    here: bool,
) -> None:
    """Add the routes for probes and, if `here`, for administrators."""
    surface = AdminEndpoints(services, observability, admins if here else None)
    works = {"/healthz": surface.healthz, "/readyz": surface.readyz}
    if here:
        works["/metrics"] = surface.metrics
    for path, work in works.items():
        routes.add("GET", path, wrap(services, work, door="admin"))


class AdminEndpoints:
    """The endpoints. Without `admins`, nobody is an administrator."""

    def __init__(
        self, services: Services, observability: Observability, admins: AdminAuth | None
    ) -> None:
        self._health = Health(observability, services.settings.ready_lag)
        self._metrics: Handler = metrics(observability)
        self._admins = admins

    async def healthz(self, request: Request) -> Response:
        """Return 200 while the process works, or 503 if it should be restarted."""
        detail = await self._detailed(request)
        return report(await self._health.alive(), detail=detail)

    async def readyz(self, request: Request) -> Response:
        """Return 200 while the process is ready for requests and delivers in time, or 503."""
        detail = await self._detailed(request)
        return report(await self._health.ready(), detail=detail)

    async def metrics(self, request: Request) -> Response:
        await self._check(request)
        return await self._metrics(request)

    async def _detailed(self, request: Request) -> bool:
        if DETAIL not in request.query:
            return False
        await self._check(request)
        return True

    async def _check(self, request: Request) -> None:
        if self._admins is None:
            raise Missing("path")
        await self._admins.check(request)
