"""The guard of callbacks as the settings want it, and what the hub asks it at a subscription."""

import contextlib
from collections.abc import Iterator

from store.errors import Invalid, Unusable
from worker.http.addresses import Refused
from worker.http.guard import Guard, Resolver
from worker.settings import WorkerSettings


class CallbackGuard:
    """The validation of a new subscription's callback."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def __call__(self, url: str) -> None:
        """Raise Invalid if the callback is refused. The message names the address, the rule and the
        setting.
        """
        try:
            await self._guard.judge(url)
        except Refused as error:
            raise Invalid(str(error), field="url", code="custom", resource="Hook") from None


def make_guard(settings: WorkerSettings, resolver: Resolver | None = None) -> Guard:
    """Return the guard for these settings. Raise Unusable if a network or port is invalid."""
    with _usable():
        return Guard(
            allow_networks=settings.allow_networks,
            ports=settings.callback_ports,
            resolver=resolver,
        )


@contextlib.contextmanager
def running_guard(settings: WorkerSettings) -> Iterator[Guard]:
    """Yield the guard for these settings, such as the one that hub and worker share."""
    guard = make_guard(settings)
    try:
        yield guard
    finally:
        guard.close()


def reconfigure_guard(guard: Guard, settings: WorkerSettings) -> None:
    """Apply these settings to a guard.

    If a network or port is invalid, raise Unusable and change nothing.
    """
    with _usable():
        guard.allow(settings.allow_networks, settings.callback_ports)


@contextlib.contextmanager
def _usable() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise Unusable(str(error)) from error
