"""A bare Starlette application that reads a body and answers 202, as a lower bound."""

import asyncio

import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hub.cli.http_server.server import bind, serving, signals, url_of


async def _taken(request: Request) -> JSONResponse:
    await request.body()
    return JSONResponse({"id": "", "event_id": 0, "deliveries": 0}, 202)


async def _serve() -> None:
    app = Starlette(routes=[Route("/{owner}/{repo}/events/{event}", _taken, methods=["POST"])])
    ended = asyncio.Event()
    with bind("127.0.0.1", 0) as bound, signals(ended.set):
        async with serving(app, bound):
            print(f"listening: {url_of(bound)}", flush=True)
            await ended.wait()


if __name__ == "__main__":
    uvloop.run(_serve())
