"""Ports for those who are to listen later, and once more after they were killed."""

import socket

_kept: list[socket.socket] = []


def free_port() -> int:
    """A port on loopback that nobody else is given until this process ends: who listens there has
    to ask for it by its number, and to reuse the address, as servers do.
    """
    kept = socket.socket()
    _kept.append(kept)
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    port: int = kept.getsockname()[1]
    return port
