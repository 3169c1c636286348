"""tocsin as a systemd service with the repository ada/engine, and a client that posts events."""

import asyncio
import contextlib
import json
import struct
import subprocess
from collections.abc import AsyncIterator, Callable
from typing import Any

from daemon import Ledger, Poster
from local_server import listening
from machine import Machine

PLACES = 'data_dir = "/var/lib/tocsin"\nkey_file = "/etc/tocsin/secret.key"\n'
SETTINGS = 'allow_networks = ["127.0.0.0/8"]\nrate_limiting = false\n'
NAME = "receiver.example"
ADDRESS = "127.0.0.2"
REMOVE = """
rm -rf /etc/tocsin /etc/systemd/system/tocsin.service.d /var/lib/tocsin /var/lib/private/tocsin
systemctl daemon-reload
"""
STORE = ("/opt/tocsin/bin/python", "/opt/project/tests/system/installation/machine_store.py")


class Service:
    """`tocsin.service`, which a `Poster` can use in place of a `Site`."""

    port = 8765

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.token = ""
        self.changed = False
        self.replaced = False
        """Whether a test put other units, users or files in the place of the installed ones."""
        self._store: subprocess.Popen[str] | None = None

    async def call(self, *command: str, **options: Any) -> str:
        """Run a command in the machine, while deliveries go on."""
        return await asyncio.to_thread(self.machine.run, *command, **options)

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        """Wait for something in the machine, while deliveries go on."""
        await asyncio.to_thread(self.machine.until, condition, what)

    def settings(self, text: str = SETTINGS) -> None:
        """Write the settings file."""
        self.changed = True
        self.machine.write("/etc/tocsin/tocsin.toml", PLACES + text)

    def install(self) -> None:
        """Install and start the service as the manual says."""
        self.machine.run("tocsin", "systemd", "install")
        self.settings()
        self.machine.run("systemctl", "enable", "--now", "tocsin")
        self.people()
        self.changed = False

    def install_anew(self) -> None:
        """Remove everything that an earlier installation left, and install the service."""
        self.machine.run("tocsin", "systemd", "uninstall", code=None)
        self.machine.run("sh", "-c", REMOVE)
        self.install()
        self.replaced = False

    def people(self) -> None:
        self.machine.run("tocsin", "user", "add", "ada")
        self.machine.run("tocsin", "repo", "add", "ada/engine")
        scopes = ("--scope", "repo", "--scope", "admin:repo_hook")
        self.token = self.machine.run("tocsin", "token", "add", "ada", *scopes).split()[0]

    async def load_hook(self, port: int) -> None:
        """Create the same hook as `hook` does, with the command that operators use."""
        wanted = {
            "repository": "ada/engine", "url": f"http://{NAME}:{port}/", "events": ["push"],
            "content_type": "json", "secret": "s",
        }  # fmt: skip
        await self.call("tocsin", "load", "-", stdin=json.dumps({"hooks": [wanted]}))

    async def hook(self, port: int, **options: Any) -> None:
        """Create a hook for pushes, with a host name that the worker has to resolve."""
        await asyncio.to_thread(self._ask, "hook", f"http://{NAME}:{port}/", options)

    def rows(self) -> list[dict[str, Any]]:
        """Return every delivery, the newest first."""
        found: list[dict[str, Any]] = self._ask("rows")
        return found

    def count(self, where: str) -> int:
        """Return the number of deliveries that match an SQL condition."""
        return int(self._ask("count", where))

    def _ask(self, function: str, *arguments: Any) -> Any:
        """Have the process machine_store.py in the machine call one of its functions."""
        if self._store is None:
            self._store = self.machine.start(*STORE)
        assert self._store.stdin is not None
        assert self._store.stdout is not None
        self._store.stdin.write(json.dumps([function, *arguments]) + "\n")
        self._store.stdin.flush()
        return json.loads(self._store.stdout.readline())

    def close(self) -> None:
        if self._store is not None:
            self._store.communicate()

    async def as_installed(self) -> None:
        """Undo what a test changed. If it changed the service's settings, stop the service."""
        if self.changed:
            self.changed = False
            await self.call("rm", "-rf", "/etc/systemd/system/tocsin.service.d", "/run/stuck")
            await self.call("systemctl", "daemon-reload")
            self.machine.write("/etc/tocsin/tocsin.toml", PLACES + SETTINGS)
            await self.call("systemctl", "stop", "tocsin")
        await asyncio.to_thread(self._ask, "forget_hooks")

    def drop_in(self, text: str, unit: str = "tocsin.service") -> None:
        """Add a drop-in to the unit. `as_installed` removes it after the test."""
        self.changed = True
        self.machine.write(f"/etc/systemd/system/{unit}.d/test.conf", text)
        self.machine.run("systemctl", "daemon-reload")

    def restarts(self) -> int:
        """Return how often systemd restarted the service by itself."""
        return int(self.machine.show("tocsin.service", "NRestarts")["NRestarts"])


class Insistent(Poster):
    """A client that reconnects until the hub has accepted every event.

    It counts refused connections and lost responses.
    """

    def __init__(self, service: Service, prefix: str, count: int) -> None:
        super().__init__(service, 0)  # type: ignore[arg-type]
        self._waiting = [f"{prefix}-{number}" for number in range(count)]
        self.refused = 0
        self.lost = 0

    async def _post(self) -> None:
        while self._waiting:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._site.port)
            except OSError:
                self.refused += 1
                return
            try:
                while self._waiting and await self._accepted(reader, writer, self._waiting[-1]):
                    pass
            finally:
                writer.close()

    async def _accepted(self, reader: Any, writer: Any, guid: str) -> bool:
        goes_on = await super()._accepted(reader, writer, guid)
        self.lost += guid in self._waiting
        return goes_on


class Names(asyncio.DatagramProtocol):
    """A name server that resolves every name to ADDRESS."""

    asked = 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        self.asked += 1
        end = data.index(b"\0", 12) + 5
        question, (kind,) = data[12:end], struct.unpack("!H", data[end - 4 : end - 2])
        answer = b""
        if kind == 1:
            numbers = bytes(map(int, ADDRESS.split(".")))
            answer = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + numbers
        head = data[:2] + struct.pack("!HHHHH", 0x8180, 1, bool(answer), 0, 0)
        self._transport.sendto(head + question + answer, address)


@contextlib.asynccontextmanager
async def names() -> AsyncIterator[Names]:
    """Run the name server of the machine for the block."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(Names, local_addr=("127.0.0.1", 53))
    try:
        yield server
    finally:
        transport.close()


@contextlib.asynccontextmanager
async def ledger(pause: float = 0.0) -> AsyncIterator[Ledger]:
    """A receiver at the address that the name server knows."""
    made = Ledger(pause)
    async with listening(made.serve, ADDRESS) as made.port:
        yield made
