"""Malformed and unusual requests."""

import itertools
import random
from collections.abc import Callable

from hub.openapi.other_endpoints import OTHER_ENDPOINTS
from hub.operations import OPERATIONS
from hub.rest.resolve import PARAMETER

VALUES = ("1", "2", "x", "ada", "engine", "0", "-1", "%00", "%FF", "a%2Fb", "..", "9" * 30, "ü")
KNOWN = {"owner": "ada", "repo": "engine", "event": "push", "username": "ada"}
NAMES = ("hub.mode", "hub.topic", "hub.callback", "hub.secret", "name", "config", "events", "body")


# The share of requests to endpoints outside the API, such as the ones for events.
AT_THE_DOORS = 0.15


def lines() -> list[str]:
    """Return the method and path of every operation of the API."""
    return [f"{one.method} {one.path}" for one in OPERATIONS]


class Junk:
    """A generator of requests, which depend only on the seed."""

    def __init__(self, token: str, seed: int) -> None:
        self._chance = random.Random(seed)
        self._token = token
        self._doors = [*OTHER_ENDPOINTS]
        shuffled = lines()
        self._chance.shuffle(shuffled)
        self._lines = itertools.cycle(shuffled)
        self._bodies: tuple[Callable[[], bytes], ...] = (
            self._bytes, self._deep, self._twice, self._numbers, self._form, self._text,
        )  # fmt: skip

    def request(self) -> bytes:
        """Return the bytes of a request."""
        kind = self._chance.random()
        if kind < 0.03:
            return self._bytes() + b"\r\n\r\n"
        at_a_door = self._chance.random() < AT_THE_DOORS
        # The operations take turns, so that few requests reach as many as possible.
        line = self._chance.choice(self._doors) if at_a_door else next(self._lines)
        method, _, path = line.partition(" ")
        body = self._chance.choice(self._bodies)()
        head = [f"{method} {self._path(path)} HTTP/1.1".encode(), b"Host: fuzz"]
        head += self._headers(body)
        return b"\r\n".join(head) + b"\r\n\r\n" + body

    def _path(self, path: str) -> str:
        def value(name: str) -> str:
            known = KNOWN.get(name)
            return known if known and self._chance.random() < 0.9 else self._chance.choice(VALUES)

        filled = PARAMETER.sub(lambda found: value(found[1]), path)
        if self._chance.random() < 0.3:
            names = ("page", "per_page", "before", "after", "cursor", "since", "q" * 50)
            pairs = (f"{self._chance.choice(names)}={self._chance.choice(VALUES)}"
                     for _ in range(self._chance.randrange(1, 6)))  # fmt: skip
            filled += "?" + "&".join(pairs)
        return "".join(each if each.isascii() else "%C3%BC" for each in filled)

    def _headers(self, body: bytes) -> list[bytes]:
        token = self._token if self._chance.random() < 0.95 else "tsp_" + "0" * 36
        found = [
            b"User-Agent: fuzz",
            f"Authorization: Bearer {token}".encode(),
            b"Content-Type: " + self._chance.choice(
                [b"application/json", b"application/x-www-form-urlencoded", b"text/\xff", b"",
                 b"multipart/form-data; boundary=x", b"application/x-ndjson"]
            ),
            b"Content-Length: %d" % len(body),
        ]  # fmt: skip
        odd = self._chance.random()
        if odd < 0.04:
            found.append(b"X-Junk: " + b"j" * 60_000)
        elif odd < 0.08:
            found += [b"X-%d: y" % number for number in range(1500)]
        elif odd < 0.12:
            found.append(b"Content-Length: %d" % (len(body) + 7))
        elif odd < 0.16:
            found.append(b"Transfer-Encoding: chunked")
        elif odd < 0.2:
            found += [b"Authorization: Basic !!!", b"Host: other", b"X-GitHub-Event: " + b"e" * 500]
        elif odd < 0.24:
            found.append(self._bytes().replace(b"\n", b"").replace(b"\r", b"") + b": z")
        return found

    def _bytes(self) -> bytes:
        return self._chance.randbytes(self._chance.choice([1, 10, 1000, 20_000]))

    def _deep(self) -> bytes:
        opening = self._chance.choice([b"[", b'{"a":', b'{"config":['])
        return opening * self._chance.choice([100, 5_000, 100_000])

    def _twice(self) -> bytes:
        name = self._chance.choice(NAMES)
        return f'{{"{name}": 1, "{name}": ["{"z" * 5000}"], "{name}": {{}}}}'.encode()

    def _numbers(self) -> bytes:
        values = ["1e999", "-1e999", "9" * 5000, "NaN", "1e-999", "0.1" + "0" * 300, "null"]
        pairs = (f'"{name}": {self._chance.choice(values)}' for name in NAMES)
        return f"{{{', '.join(pairs)}}}".encode()

    def _form(self) -> bytes:
        pairs = (f"{self._chance.choice(NAMES)}={self._chance.choice(VALUES)}" for _ in range(300))
        return "&".join(pairs).encode()

    def _text(self) -> bytes:
        texts = ["\x00", "\ud800", "‮", "x" * 200_000, "'; DROP TABLE event; --", "{{7*7}}", "💥"]
        text = self._chance.choice(texts).encode("utf-8", "surrogatepass")
        return b'{"name": "%b", "body": "%b", "events": ["%b"]}' % (text, text, text)
