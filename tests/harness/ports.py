"""Ports for servers that start later, or that start again after they were killed."""

import socket

_kept: list[socket.socket] = []


def free_port() -> int:
    """Return a port on loopback that the system assigns to no other process until this one ends.

    A server must bind the port by its number, with SO_REUSEADDR, as servers do.
    """
    kept = socket.socket()
    _kept.append(kept)
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    port: int = kept.getsockname()[1]
    return port
