"""A bare Starlette application with one route that reads a hook with the statements and the threads
of the API, and does nothing more.
"""

import asyncio
import os
from pathlib import Path

import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hub.cli.http_server.server import bind, serving, signals, url_of
from hub.rest import serializers
from hub.rest.urls import Urls
from store import Connection, Store, open_store
from store.accounts import tokens
from store.delivery import attempts
from store.hooks import hooks
from store.repositories import repositories

URLS = Urls("http://127.0.0.1")


def _read(db: Connection, token: str, owner: str, name: str, hook_id: int) -> serializers.Hook:
    held = tokens.find(db, token)
    repo = repositories.find(db, owner, name)
    assert held is not None
    assert repo is not None
    account = {"id": held["account_id"], "site_admin": held["site_admin"]}
    assert repositories.role_of(db, repo, account) == "admin"
    hook = hooks.get(db, repo["id"], hook_id)
    assert hook is not None
    last = attempts.last_responses(db, [hook["id"]])
    return serializers.hook(URLS, repo, hook, last.get(hook["id"]))


def _route(store: Store) -> Route:
    async def answer(request: Request) -> JSONResponse:
        token = request.headers["authorization"].removeprefix("Bearer ")
        values = request.path_params
        hook = await store.read(
            _read, token, values["owner"], values["repo"], int(values["hook_id"])
        )
        return JSONResponse(hook)

    return Route("/repos/{owner}/{repo}/hooks/{hook_id}", answer)


async def _serve() -> None:
    store = open_store("sqlite", data_dir=Path(os.environ["TOCSIN_DATA_DIR"]))
    ended = asyncio.Event()
    with bind("127.0.0.1", 0) as bound, signals(ended.set):
        async with serving(Starlette(routes=[_route(store)]), bound):
            print(f"listening: {url_of(bound)}", flush=True)
            await ended.wait()
    await store.close()


if __name__ == "__main__":
    uvloop.run(_serve())
