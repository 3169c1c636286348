"""A server that speaks just enough of PostgreSQL's protocol to say which version it is."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from waiting import PATIENCE

# Requests for TLS and GSSAPI before the startup message. The byte N declines them.
QUESTIONS = {80877103, 80877104}


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def _greeting(version: str) -> bytes:
    reported = {"server_version": version, "server_encoding": "UTF8", "client_encoding": "UTF8"}
    status = [
        _message(b"S", b"%s\0%s\0" % (name.encode(), value.encode()))
        for name, value in reported.items()
    ]
    return b"".join([_message(b"R", struct.pack("!I", 0)), *status, _message(b"Z", b"I")])


def _serve(listener: socket.socket, version: str) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        # The client may disconnect once it knows the version, or earlier.
        with client, suppress(OSError, struct.error):
            _talk(client, version)


def _talk(client: socket.socket, version: str) -> None:
    while True:
        length, code = struct.unpack("!II", client.recv(8, socket.MSG_WAITALL))
        client.recv(length - 8, socket.MSG_WAITALL)
        if code not in QUESTIONS:
            break
        client.sendall(b"N")
    client.sendall(_greeting(version))
    client.recv(65_536)


@contextmanager
def server_of_version(version: str) -> Iterator[int]:
    """Run a server that reports this version. Yield its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=_serve, args=(listener, version), daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(PATIENCE)
