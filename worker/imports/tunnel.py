"""The program that Subversion runs to reach a server through the proxy of the worker.

It connects the proxy with its standard input and output.
"""

import contextlib
import os
import socket
import sys
import threading
from base64 import b64encode

SCHEME = "svn+tocsin"
"""The scheme of URLs for which Subversion runs this program.

The part after + is the program's name in Subversion's configuration.
"""
PORT, PASS, PLACE = "TOCSIN_TUNNEL_PORT", "TOCSIN_TUNNEL_PASS", "TOCSIN_TUNNEL_PLACE"
CHUNK = 1 << 16
MOST_HEAD = 4_096


def environment(port: int, user: str, token: str, place: str) -> dict[str, str]:
    """Return the program's environment: the proxy's port and credentials, and the server's host and
    port.
    """
    return {PORT: str(port), PASS: f"{user}:{token}", PLACE: place}


def main() -> int:
    """Copy data in both directions, until the server has sent everything."""
    with socket.create_connection(("127.0.0.1", int(os.environ[PORT]))) as there:
        rest = _connect(there)
        if rest is None:
            return 1
        # The thread ends with the process, because its standard input may never end.
        threading.Thread(target=_send, args=(there,), daemon=True).start()
        while rest:
            sys.stdout.buffer.write(rest)
            sys.stdout.buffer.flush()
            rest = there.recv(CHUNK)
    return 0


def _connect(there: socket.socket) -> bytes | None:
    """Connect to the server through the proxy.

    Return the first bytes from the server. Return None if the proxy refuses.
    """
    place, known = os.environ[PLACE], b64encode(os.environ[PASS].encode()).decode()
    lines = (f"CONNECT {place} HTTP/1.1", f"Proxy-Authorization: Basic {known}", "", "")
    there.sendall("\r\n".join(lines).encode())
    said = b""
    while b"\r\n\r\n" not in said and len(said) < MOST_HEAD:
        part = there.recv(CHUNK)
        if not part:
            return None
        said += part
    head, _, rest = said.partition(b"\r\n\r\n")
    return (rest or there.recv(CHUNK)) if head.startswith(b"HTTP/1.1 200 ") else None


def _send(there: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := os.read(sys.stdin.fileno(), CHUNK):
            there.sendall(part)
        there.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    # Exit without waiting for the thread that reads standard input.
    code = main()
    sys.stdout.flush()
    os._exit(code)
