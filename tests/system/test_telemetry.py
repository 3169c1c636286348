"""Daemons that export with OpenTelemetry, as one process and as two."""

import signal
from collections.abc import Iterator

import pytest
from daemon import Daemon, Ledger, Poster, Site, ledger
from otlp_receiver import OTLPReceiver, receiving
from waiting import Stopwatch, until

from hub.cli.telemetry import export
from worker.tuning import DEFAULTS

# The bound of a shutdown, in durations of a start, beyond the grace for requests and exporters.
STARTS = 40


@pytest.fixture
def collector() -> Iterator[OTLPReceiver]:
    with receiving() as receiver:
        yield receiver


def variables(collector: OTLPReceiver, **more: str) -> dict[str, str]:
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SERVICE_NAME": "doorbell"} | more


async def deliver(site: Site, receiver: Ledger, count: int) -> None:
    before = receiver.got.total()
    poster = Poster(site, count, connections=1)
    await poster.post()
    assert len(poster.accepted) == count
    await until(lambda: receiver.got.total() == before + count, "the deliveries")


async def in_time(daemon: Daemon) -> int:
    taken = Stopwatch()
    code = await daemon.end(signal.SIGTERM)
    bound = DEFAULTS.stop_grace + export.PATIENCE + STARTS * daemon.started
    assert taken.seconds() < bound
    return code


@pytest.mark.parametrize("split", [False, True], ids=["one process", "two processes"])
async def test_the_end_exports_the_remaining_spans(
    site: Site, collector: OTLPReceiver, split: bool
) -> None:
    async with ledger() as receiver:
        site.hook(receiver)
        parts = [("--only", "hub"), ("--only", "worker")] if split else [()]
        started = [await site.serve(*part, **variables(collector)) for part in parts]
        await deliver(site, receiver, 3)
        assert [await in_time(daemon) for daemon in started] == [0] * len(parts)
    created, attempts = collector.spans("create"), collector.spans("POST")
    assert len(created) == len(attempts) == 3
    assert {span.place for span in created} == {(one.place[0], one.parent) for one in attempts}
    settled = {link for span in collector.spans("settle") for link in span.links}
    assert settled == {span.place for span in attempts}
    resources = [span.resource for span in (*created, *attempts)]
    assert {one["service.name"] for one in resources} == {"doorbell"}
    processes = {one["service.instance.id"] for one in resources}
    assert len(processes) == len(parts)
    metrics = [name for path, name in collector.bodies if path == "/v1/metrics"]
    assert len(metrics) >= len(parts)


@pytest.mark.parametrize("hangs", [True, False], ids=["hangs", "refuses"])
async def test_a_collector_in_trouble_does_not_concern_deliveries(
    site: Site, collector: OTLPReceiver, hangs: bool
) -> None:
    if hangs:
        collector.opened.clear()
    collector.status = 503
    given = variables(collector, OTEL_BSP_SCHEDULE_DELAY="10", OTEL_METRIC_EXPORT_INTERVAL="10")
    async with ledger() as receiver:
        site.hook(receiver)
        daemon = await site.serve(**given)
        await deliver(site, receiver, 50)
        await until(lambda: collector.requests >= 2, "both signals")
        assert await in_time(daemon) == 0
    assert site.states() == {"delivered": 50}
