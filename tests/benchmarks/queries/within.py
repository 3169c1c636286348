"""Requests to an application within this process."""

from typing import Any


async def allow(url: str) -> None:
    """Allow every callback. No request here has one."""


def get(path: str, query: bytes, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    """Return the scope of a GET request."""
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8765),
    }


async def answered(app: Any, scope: dict[str, Any]) -> None:
    """Wait until the application has answered with status 200."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start" and message["status"] != 200:
            raise RuntimeError(f"{scope['path']}: {message['status']}")

    await app(dict(scope), receive, send)
