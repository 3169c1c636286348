"""The units under a real systemd, on a machine that is made of namespaces and an overlay."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Iterator

import httpx
import machine as machines
import pytest
from machine import Machine, booted
from systemd_service import SETTINGS, Insistent, Names, Service, ledger, names
from waiting import PATIENCE, until

EVENTS = 1_000
STUCK = """
import asyncio
from pathlib import Path

from hub.cli import main
from store import Store
from store.delivery import deliveries

note = Store.write_relaxed


async def stuck(self, function, *args, **kwargs):
    if function is deliveries.claim and Path("/run/stuck").exists():
        await asyncio.sleep(3600)
    return await note(self, function, *args, **kwargs)


Store.write_relaxed = stuck
main()
"""

pytestmark = pytest.mark.skipif(machines.missing() is not None, reason=str(machines.missing()))


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with booted(tmp_path_factory.mktemp("machine")) as made:
        made.run("rm", "-f", "/etc/resolv.conf", "/etc/nsswitch.conf")
        made.write("/etc/resolv.conf", "nameserver 127.0.0.1\n")
        made.write("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
        yield made


@pytest.fixture(scope="module")
def installed(machine: Machine) -> Iterator[Service]:
    service = Service(machine)
    service.install()
    yield service
    service.close()


@pytest.fixture
async def name_server(anyio_backend: str, machine: Machine) -> AsyncIterator[Names]:
    """A name server in the machine's network, which the test enters."""
    with machine.network():
        async with names() as server:
            yield server


@pytest.fixture
async def configured(installed: Service, name_server: Names) -> AsyncIterator[Service]:
    """The service as it is installed, for a test that changes its settings before it starts it.

    It may run. No hook is active.
    """
    if installed.replaced:
        await asyncio.to_thread(installed.install_anew)
    yield installed
    await installed.as_installed()


@pytest.fixture
async def service(configured: Service) -> Service:
    """The service, running by the units as they are installed; no hook is active."""
    await configured.call("systemctl", "start", "tocsin")
    return configured


async def post(service: Service, prefix: str, count: int = 1) -> set[str]:
    """Post events until they are accepted. Return their GUIDs."""
    poster = Insistent(service, prefix, count)
    await poster.post()
    assert (poster.refused, poster.lost) == (0, 0)
    return poster.accepted


async def said(service: Service, what: str) -> None:
    await service.until(lambda: what in service.machine.journal(), what)


async def test_the_service_serves_once_it_is_started(service: Service, name_server: Names) -> None:
    shown = service.machine.show(
        "tocsin.service", "ActiveState", "StatusText", "User", "Type", "WatchdogUSec"
    )
    assert shown["ActiveState"] == "active"
    assert shown["StatusText"].startswith("listening on http://127.0.0.1:8765; 0 in flight")
    assert (shown["User"], shown["Type"], shown["WatchdogUSec"]) == ("tocsin", "notify", "1min")
    modes = (await service.call("stat", "-c", "%U %a", "/var/lib/tocsin/tocsin.db")).split()
    assert modes == ["tocsin", "600"]
    assert "secret.key" not in await service.call("ls", "/var/lib/tocsin")
    async with ledger() as receiver:
        await service.load_hook(receiver.port)
        guids = await post(service, "first", 5)
        await until(lambda: set(receiver.got) >= guids, "deliveries to a name")
    assert name_server.asked


async def test_a_confined_daemon_sees_its_process_and_logs_to_the_journal(service: Service) -> None:
    """The sandboxed daemon reads its process metrics, and logs lines with their severity."""
    async with httpx.AsyncClient(
        base_url="http://127.0.0.1:8765", trust_env=False, timeout=PATIENCE
    ) as client:
        ready = await client.get("/readyz?verbose")
        metrics = (await client.get("/metrics")).text
    assert ready.json()["status"] == "ok", ready.text
    for name in ("resident_memory_bytes", "open_fds", "cpu_seconds_total"):
        assert f"\nprocess_{name} " in metrics
    found = re.search(r"^process_start_time_seconds (\S+)$", metrics, re.MULTILINE)
    assert found is not None
    assert 0 < time.time() - float(found[1]) < 3600
    await service.call("systemctl", "reload", "tocsin")
    await said(service, "settings read again")
    journal = service.machine.journal("--output=json", "--unit=tocsin.service").splitlines()
    lines = [json.loads(line) for line in journal]
    (line,) = (one for one in lines if "settings read again; changed: none" in one["MESSAGE"])
    assert line["PRIORITY"] == "6"
    assert line["MESSAGE"].startswith("INFO tocsin.serve settings read again")


async def test_systemd_reads_the_environment_file(configured: Service) -> None:
    """systemd understands each line of the generated environment file."""
    service = configured
    lines = (await service.call("cat", "/etc/tocsin/tocsin.env")).splitlines()
    wanted = [line[1:] for line in lines if line.startswith("#TOCSIN_")]
    text = "\n".join(line for line in wanted if not line.startswith("TOCSIN_KEY_FILE"))
    service.machine.write("/run/every.env", text)
    service.drop_in("[Service]\nEnvironmentFile=/run/every.env\n")
    await service.call("systemctl", "restart", "tocsin")
    async with ledger() as receiver:
        # By default, deliveries to loopback addresses are refused.
        await service.hook(receiver.port)
        await post(service, "default")
        await service.until(lambda: "loopback" in str(service.rows()), "a refusal")
        assert not receiver.got


async def test_the_service_survives_kill_9(service: Service) -> None:
    async with ledger(0.001) as receiver:
        await service.hook(receiver.port)
        first = service.machine.main()
        poster = Insistent(service, "killed", 300)
        posting = asyncio.create_task(poster.post())
        await until(lambda: len(receiver.got) > 20, "deliveries")
        await service.call("kill", "-9", str(first))
        await posting
        assert poster.refused == 0
        assert len(poster.accepted) == 300
        await until(lambda: poster.accepted <= set(receiver.got), "the delivery of accepted events")
        assert service.machine.main() not in (0, first)


async def test_the_watchdog_restarts_a_stopped_process(configured: Service) -> None:
    service = configured
    service.drop_in("[Service]\nWatchdogSec=2\n")
    await service.call("systemctl", "restart", "tocsin")
    stopped, before = service.machine.main(), service.restarts()
    await service.call("kill", "-STOP", str(stopped))
    await service.until(lambda: service.restarts() > before, "a restart by the watchdog")
    await post(service, "after-the-stop")
    journal = await asyncio.to_thread(service.machine.journal)
    assert "Watchdog timeout (limit 2s)!" in journal
    assert "Fatal Python error: Aborted" in journal, "the journal has a traceback"


async def test_the_watchdog_restarts_a_stalled_delivery_loop(configured: Service) -> None:
    """The event loop runs, but the worker claims no deliveries."""
    service = configured
    service.machine.write("/opt/stuck.py", STUCK)
    service.drop_in(
        "[Service]\nWatchdogSec=4\nExecStart=\nEnvironment=LD_LIBRARY_PATH=/opt/python/lib\n"
        "ExecStart=/opt/tocsin/bin/python /opt/stuck.py serve\n"
    )
    await service.call("systemctl", "restart", "tocsin")
    async with ledger() as receiver:
        await service.hook(receiver.port)
        (guid,) = await post(service, "stuck")
        await until(lambda: receiver.got[guid] == 1, "the first delivery")
        await service.call("touch", "/run/stuck")
        (delivery, *_) = service.rows()
        before = service.restarts()
        await service.call("tocsin", "delivery", "redeliver", str(delivery["id"]))
        await service.until(
            lambda: "claiming: no sign of life" in service.machine.journal(), "the stall's report"
        )
        await post(service, "meanwhile")
        await service.call("rm", "/run/stuck")
        await service.until(lambda: service.restarts() > before, "a restart by the watchdog")
        await until(lambda: receiver.got[guid] == 2, "the redelivery")


async def test_restarts_under_load(service: Service) -> None:
    async with ledger(0.002) as receiver:
        await service.hook(receiver.port)
        poster = Insistent(service, "load", EVENTS)
        posting = asyncio.create_task(poster.post())
        for at in (50, 300, 550):
            async with asyncio.timeout(PATIENCE):
                await poster.taken_in(at)
            await until(lambda: receiver.got, "deliveries")
            assert not posting.done()
            await service.call("systemctl", "restart", "tocsin")
        await posting
        assert poster.refused == 0, "systemd keeps the socket open"
        assert poster.lost == 0, "every request gets its response"
        assert len(poster.accepted) == EVENTS
        await until(lambda: poster.accepted <= set(receiver.got), "the delivery of accepted events")
        assert receiver.got.total() == EVENTS, "nothing was sent twice"
        await service.call("systemctl", "stop", "tocsin.socket", "tocsin")
        assert service.count("lease_id IS NOT NULL") == 0


async def test_stopping_does_not_wait_for_an_endpoint_that_hangs(service: Service) -> None:
    async with ledger(3600) as hanging:
        await service.hook(hanging.port, timeout=120)
        await post(service, "hang", 10)
        await until(lambda: hanging.got.total() > 0, "a delivery that hangs")
        await service.call("systemctl", "stop", "tocsin.socket", "tocsin")
        # The result would be another one if the stop had taken longer than allowed.
        shown = service.machine.show("tocsin.service", "Result", "ExecMainStatus", "ActiveState")
        assert shown == {"Result": "success", "ExecMainStatus": "0", "ActiveState": "inactive"}
        assert service.count("lease_id IS NOT NULL") == 0
        states = {row["state"] for row in service.rows() if row["guid"].startswith("hang-")}
        assert states == {"waiting"}


async def test_the_service_is_reloaded(service: Service) -> None:
    async with ledger() as receiver:
        await service.hook(receiver.port)
        pid = service.machine.main()
        await service.call("systemctl", "reload", "tocsin")
        service.settings(f"{SETTINGS}port = 1\n")
        await service.call("systemctl", "reload", "tocsin")
        await said(service, "in force only after a restart: port")
        guids = await post(service, "reloaded")
        await until(lambda: set(receiver.got) >= guids, "a delivery")
        service.settings("")
        await service.call("systemctl", "reload", "tocsin")
        await said(service, "changed: allow_networks, rate_limiting")
        await post(service, "refused")
        await service.until(lambda: "loopback" in str(service.rows()), "a refusal")
        assert set(receiver.got) == guids
        assert service.machine.main() == pid


async def test_reloading_wrong_settings_changes_nothing(service: Service) -> None:
    async with ledger() as receiver:
        await service.hook(receiver.port)
        for text in ("port = ", "timeout = -1", 'allow_networks = ["nonsense"]'):
            service.settings(f"log_level = 'debug'\n{text}\n")
            before = service.machine.journal().count("the settings stay as they were")
            await service.call("systemctl", "reload", "tocsin", code=None)
            await service.until(
                lambda n=before: service.machine.journal().count("the settings stay") > n, "a word"
            )
        await service.until(
            lambda: (
                "stay as they were" in service.machine.show("tocsin", "StatusText")["StatusText"]
            ),
            "the status",
        )
        guids = await post(service, "as-before")
        await until(lambda: set(receiver.got) >= guids, "a delivery")
        service.settings()
        await service.call("systemctl", "reload", "tocsin")
        await service.until(
            lambda: service.machine.show("tocsin", "StatusText")["StatusText"].startswith("list"),
            "the status",
        )


async def test_a_database_of_a_newer_program_stops_the_service(service: Service) -> None:
    async def change(statement: str) -> None:
        code = (
            "import sqlite3; db = sqlite3.connect('/var/lib/tocsin/tocsin.db');"
            f"db.execute({statement!r}); db.commit()"
        )
        await service.call("/opt/tocsin/bin/python", "-c", code)

    await service.call("systemctl", "stop", "tocsin.socket", "tocsin")
    await change("INSERT INTO migration VALUES (999, 'later', 0)")
    await service.call("systemctl", "start", "tocsin", code=None)
    await said(service, "a newer tocsin has written the database")
    await change("DELETE FROM migration WHERE number = 999")
    await service.call("systemctl", "start", "tocsin")
    await post(service, "again")


async def test_an_upgrade_copies_the_database_and_migrates_it(configured: Service) -> None:
    service = configured
    service.machine.write(
        "/opt/newer.py",
        "from store.database import migrations\nfrom hub.cli import main\n"
        "known = migrations.steps()\n"
        "step = (known[-1][0] + 1, '9999_more.sql', 'CREATE TABLE more (id {id})')\n"
        "migrations.steps = lambda: [*known, step]\nmain()\n",
    )
    service.drop_in(
        "[Service]\nExecStart=\nEnvironment=LD_LIBRARY_PATH=/opt/python/lib\n"
        "ExecStart=/opt/tocsin/bin/python /opt/newer.py serve\n"
    )
    await service.call("systemctl", "restart", "tocsin")
    await said(service, "the database is upgraded; as it was at step")
    await post(service, "upgraded")
    await service.call("systemctl", "stop", "tocsin.socket", "tocsin")
    # Downgrade: the copy replaces the database.
    await service.call(
        "sh",
        "-c",
        "cd /var/lib/tocsin && rm -f tocsin.db-* && mv tocsin.before-upgrade-*.db tocsin.db",
    )


async def test_hub_and_worker_run_as_two_services(installed: Service, name_server: Names) -> None:
    service = installed
    service.replaced = True
    await service.call("tocsin", "systemd", "install", "--split")
    assert "tocsin.service" not in await service.call("ls", "/etc/systemd/system")
    try:
        await service.call("systemctl", "enable", "--now", "tocsin-hub", "tocsin-worker")
        async with ledger(0.001) as receiver:
            await service.hook(receiver.port)
            await post(service, "split")
            await service.call("systemctl", "restart", "tocsin-hub")
            await service.call("systemctl", "stop", "tocsin-worker")
            guids = await post(service, "without-worker", 20)
            await service.call("systemctl", "start", "tocsin-worker")
            await until(lambda: set(receiver.got) >= guids, "deliveries of earlier events")
    finally:
        await service.call("tocsin", "systemd", "install")
    assert "tocsin-hub" not in await service.call("ls", "/etc/systemd/system")


async def test_the_service_runs_as_a_dynamic_user(installed: Service, name_server: Names) -> None:
    service = installed
    service.replaced = True
    await service.call("systemctl", "stop", "tocsin.socket", "tocsin")
    await service.call(
        "sh", "-c", "userdel tocsin; rm -rf /var/lib/tocsin; systemctl daemon-reload"
    )
    service.drop_in("[Service]\nDynamicUser=yes\n")
    await service.call("systemctl", "start", "tocsin")
    service.people()
    await post(service, "dynamic")
    assert (await service.call("readlink", "/var/lib/tocsin")).strip() == "private/tocsin"


async def test_uninstalling_keeps_settings_and_data(
    installed: Service, machine: Machine, name_server: Names
) -> None:
    installed.replaced = True
    said = machine.run("tocsin", "systemd", "uninstall")
    assert "stays    /etc/tocsin\nstays    /var/lib/tocsin\n" in said
    assert machine.run("systemctl", "is-active", "tocsin.socket", code=None) == "inactive\n"
    left = machine.run("find", "/etc/systemd/system", "/etc/sysusers.d", "/etc/tmpfiles.d")
    assert [line for line in left.splitlines() if "tocsin" in line and ".d" not in line] == []
    with pytest.raises(OSError, match="111"):
        await asyncio.open_connection("127.0.0.1", Service.port)
    # If a test of other units runs later, it needs a service that it can stop.
    machine.run("tocsin", "systemd", "install")
