"""A receiver as an integrator writes it: it verifies each delivery before it parses the payload."""

import hashlib
import hmac
import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRET = "a bell that no one else has"
PATIENCE = 600.0


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        expected = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        genuine = hmac.compare_digest(expected, self.headers["X-Hub-Signature-256"])
        self.send_response(204 if genuine else 401)
        self.end_headers()
        if genuine:
            self.server.deliveries.put((self.headers, json.loads(body)))

    def log_message(self, *args):
        pass


class Receiver:
    def __init__(self):
        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._server.deliveries = queue.Queue()
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def wait_for(self, event):
        """Return the delivery id and the payload of the next delivery of an event."""
        while True:
            headers, payload = self._server.deliveries.get(timeout=PATIENCE)
            if headers["X-GitHub-Event"] == event:
                return headers["X-GitHub-Delivery"], payload
