"""The messages to the service manager, by the protocol of sd_notify(3).

It passes on the watchdog's interval and sockets. Without a service manager, no message is sent, and
there are no interval and no sockets.
"""

import errno
import os
import socket
import time

FIRST_DESCRIPTOR = 3

# A full queue, and no more descriptors or memory.
PASSING = {errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

# The last reload, and a message before or after it, tell the state, however many were before.
KEPT = 3


class Notifier:
    """Sends the service's state to the service manager that NOTIFY_SOCKET names."""

    def __init__(self) -> None:
        self._address = os.environ.get("NOTIFY_SOCKET", "")
        if self._address.startswith("@"):
            self._address = "\0" + self._address[1:]
        self._status = ""
        self._unsent: list[str] = []

    @property
    def heard(self) -> bool:
        """Return whether there is a service manager."""
        return bool(self._address)

    def ready(self, status: str) -> None:
        """Report that the service is ready, at the start or after `reloading`."""
        self._status = status
        self._send_surely("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        """Report that the settings are being reloaded; `ready` ends that."""
        self._send_surely("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self, status: str) -> None:
        """Report that the service is stopping."""
        self._status = status
        self._send_surely("STOPPING=1", f"STATUS={status}")

    def status(self, status: str) -> None:
        """Set the line of `systemctl status`. It is sent only if it differs from the last one."""
        if status != self._status:
            self._status = status
            self._send("STATUS=" + _on_one_line(status))

    def alive(self) -> None:
        """Send a sign of life for the watchdog."""
        self._send("WATCHDOG=1")

    def retry(self) -> None:
        """Send again, in order, what a busy service manager could not take.

        It would otherwise end a service that never became ready.
        """
        while self._unsent and self._send(self._unsent[0]):
            del self._unsent[0]

    def _send_surely(self, *lines: str) -> None:
        self._unsent.append("\n".join(map(_on_one_line, lines)))
        del self._unsent[:-KEPT]
        self.retry()

    def _send(self, message: str) -> bool:
        """Return False if the service manager is too busy to take the message."""
        if not self._address:
            return True
        # The socket does not block: a service manager that is busy must not stop the daemon.
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.setblocking(False)
                sender.sendto(message.encode(), self._address)
        except OSError as error:
            # With other errors, there is no service manager any more.
            return error.errno not in PASSING
        return True


def _on_one_line(text: str) -> str:
    return text.replace("\n", " ")


def watchdog_seconds() -> float | None:
    """Return the seconds within which the service manager expects a sign of life.

    It is None if it expects none.
    """
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    given = os.environ.get("WATCHDOG_USEC", "")
    return int(given) / 1_000_000 if given.isdigit() and int(given) else None


def inherited_sockets() -> list[socket.socket]:
    """Return the listening sockets that the service manager opened for this process.

    Their environment variables are removed, so a second call returns an empty list.
    """
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
