"""`python hg_server.py REPOSITORY FILE` serves a Mercurial repository on a port that it prints.

If the file holds a name and a password, joined by a colon, requests need them. The server is a
process of its own, because hg leaves files open.
"""

import base64
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from mercurial.hgweb import hgweb


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


def main(repo: str, file: Path) -> None:
    app = hgweb(os.fsencode(repo))

    def serve(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        pair = file.read_bytes()
        wanted = base64.b64encode(pair).decode()
        if pair and environ.get("HTTP_AUTHORIZATION") != f"Basic {wanted}":
            start("401 Who are you", [("WWW-Authenticate", 'Basic realm="hg"')])
            return [b""]
        return app(environ, start)

    with make_server("127.0.0.1", 0, serve, handler_class=Quiet) as server:
        print(server.server_port, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
