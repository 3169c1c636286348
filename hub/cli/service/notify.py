"""What the service manager is told, by the protocol of sd_notify(3), and what it has told us.

Without a service manager everything here does nothing.
"""

import contextlib
import os
import socket
import time

FIRST_DESCRIPTOR = 3


class Notifier:
    """Tells the service manager named by NOTIFY_SOCKET how the service is."""

    def __init__(self) -> None:
        self._address = os.environ.get("NOTIFY_SOCKET", "")
        if self._address.startswith("@"):
            self._address = "\0" + self._address[1:]
        self._status = ""

    @property
    def heard(self) -> bool:
        """Whether anybody wants to know."""
        return bool(self._address)

    def ready(self, status: str) -> None:
        """It serves from now on; after `reloading` also: by the new settings."""
        self._status = status
        self._send("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        """Settings are being read again; `ready` ends that."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self, status: str) -> None:
        """It takes nothing more and is about to end."""
        self._status = status
        self._send("STOPPING=1", f"STATUS={status}")

    def status(self, status: str) -> None:
        """A line for `systemctl status`, sent where it differs from the last one."""
        if status != self._status:
            self._status = status
            self._send(f"STATUS={status}")

    def alive(self) -> None:
        """A sign of life for the watchdog."""
        self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        message = "\n".join(line.replace("\n", " ") for line in lines)
        # The service manager is not waited for: what it does not hear now it hears later.
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender,
        ):
            sender.setblocking(False)
            sender.sendto(message.encode(), self._address)


def watchdog_seconds() -> float | None:
    """How long the service manager waits for a sign of life, if it does."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    given = os.environ.get("WATCHDOG_USEC", "")
    return int(given) / 1_000_000 if given.isdigit() and int(given) else None


def inherited_sockets() -> list[socket.socket]:
    """The listening sockets that the service manager has opened for this process."""
    count = os.environ.pop("LISTEN_FDS", "")
    ours = os.environ.pop("LISTEN_PID", "") == str(os.getpid())
    os.environ.pop("LISTEN_FDNAMES", None)
    if not ours or not count.isdigit():
        return []
    found = []
    for descriptor in range(FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + int(count)):
        os.set_inheritable(descriptor, False)
        found.append(socket.socket(fileno=descriptor))
    return found
