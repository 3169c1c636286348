"""Translation of vendor words, for clients written for another platform.

tocsin's own words are neutral: `service`, `assistant`, `devenv`. With the setting `vocabulary` the
API accepts both spellings and responds with the mapped one. Only this module knows where the words
occur. Without the setting it does nothing and costs nothing.
"""

import re
from collections.abc import Mapping
from typing import Any

from hub.http.response import Header, Response

SERVICE = "service"
# Prefixes of request headers that are accepted with any vocabulary.
PREFIXES = (b"x-service-", b"x-github-")
# Members of responses and events whose names contain a word.
MEMBERS = ("performed_via_service_app", "assistant_usage_records")
# Headers whose values contain words, or URLs of the API.
WITH_URLS = {b"link", b"location"}
WITH_WORDS = {
    b"vary",
    b"access-control-expose-headers",
    b"access-control-allow-headers",
    b"x-service-media-type",
    b"content-type",
    b"x-oauth-scopes",
    b"x-accepted-oauth-scopes",
    b"x-accepted-service-permissions",
}
WORD = re.compile(r"[A-Za-z]+")
# Words with other capitals than the first letter.
CAPITALS = {"github": "GitHub", "gitlab": "GitLab", "otp": "OTP", "sso": "SSO"}
# Paths that have a word as a segment of its own and not as a user's or repository's name.
SEGMENTS = (
    (
        "assistant",
        r"(/orgs/[^/]+|/orgs/[^/]+/members/[^/]+|/enterprises/[^/]+)/assistant(?![\w.-])",
    ),
    ("devenvs", r"(/repos/[^/]+/[^/]+|/repositories/[^/]+|/user)/devenvs(?![\w.-])"),
)
# Names of headers and media types in the OpenAPI document.
NAMES = re.compile(r"\bX-(?:Accepted-)?Service-[A-Za-z-]*|\bapplication/vnd\.service\b")
# A list ends where another one begins, so that the time is linear.
SCOPES = re.compile(rb'"(?:add_|remove_)?scopes"\s*+:\s*+\[[^][]*+\]')


class Vocabulary:
    """The configured words. `root` is the root of the API's own URLs."""

    def __init__(self, words: Mapping[str, str], root: str) -> None:
        self.mapped = {word: other for word, other in words.items() if other != word}
        own = f"x-{self.mapped.get(SERVICE, SERVICE)}-".encode()
        self.prefixes = tuple(dict.fromkeys((own, *PREFIXES)))
        self._plain = {
            form: other + form.removeprefix(word)
            for word, other in self.mapped.items()
            for form in (word, f"{word}s")
        }
        self._back = {other: word for word, other in self._plain.items()}
        self._segments = [
            (re.compile("^" + pattern), rf"\1/{self._plain[segment]}")
            for segment, pattern in SEGMENTS
            if segment in self._plain
        ]
        spoken = {name: self._translate_text(name) for name in MEMBERS}
        self._members = {name: other for name, other in spoken.items() if name != other}
        self._names: dict[bytes, bytes] = {}
        self._url = re.compile(re.escape(root) + r"(/[^\s\"<>]*)")
        self._root = root

    def __bool__(self) -> bool:
        return bool(self.mapped)

    @property
    def names_forms(self) -> bool:
        """Whether JSON in another form has a media type of its own.

        Other platforms send it as application/json, and octokit parses nothing else.
        """
        return SERVICE not in self.mapped

    def header(self, headers: Mapping[bytes, bytes], name: bytes) -> tuple[bytes, bytes] | None:
        """Find a request header by its name without prefix. Return its full name and its value."""
        for prefix in self.prefixes:
            value = headers.get(prefix + name)
            if value is not None:
                return prefix + name, value
        return None

    def paths(self, path: str) -> tuple[str, ...]:
        """Return every spelling of an API path."""
        return tuple(dict.fromkeys((path, self._path(path))))

    def translate_request(self, raw: bytes) -> bytes:
        """Translate the scopes in a request's body to tocsin's words."""
        if not self.mapped or b"scopes" not in raw:
            return raw
        return SCOPES.sub(lambda found: _replaced(found[0], self._back), raw)

    def translate_response(self, answer: Response) -> None:
        """Translate a response to the mapped words."""
        answer.headers = [self._header(name, value) for name, value in answer.headers]
        if not answer.json:
            return
        body = answer.body
        for name, other in self._members.items():
            # Unescaped quotes: this is a member's name and no part of a text.
            body = body.replace(f'"{name}":'.encode(), f'"{other}":'.encode())
        if self._segments:
            body = SCOPES.sub(lambda found: _replaced(found[0], self._plain), body)
            body = self._urls(body.decode()).encode()
        answer.body = body

    def payload(self, content: Any) -> Any:
        """Translate an event's payload to the mapped words."""
        if isinstance(content, dict):
            return {
                self._members.get(name, name): self.payload(value)
                for name, value in content.items()
            }
        if isinstance(content, list):
            return [self.payload(item) for item in content]
        return self._urls(content) if isinstance(content, str) else content

    def document(self, content: Any) -> Any:
        """Translate names in the OpenAPI document to the mapped words, but no sentences."""
        if isinstance(content, dict):
            return {
                self._translate_name(name): self.document(value) for name, value in content.items()
            }
        if isinstance(content, list):
            return [self.document(item) for item in content]
        return self._translate_name(content) if isinstance(content, str) else content

    def _translate_name(self, text: str) -> str:
        text = NAMES.sub(
            lambda found: self._translate_text(found[0]), self._members.get(text, text)
        )
        return self._path(text) if text.startswith("/") else text

    def _header(self, name: bytes, value: bytes) -> Header:
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = self._translate_text(name.decode()).encode()
        if name in WITH_URLS:
            return known, self._urls(value.decode("latin-1")).encode("latin-1")
        if name in WITH_WORDS:
            return known, self._listed(value.decode("latin-1")).encode("latin-1")
        return known, value

    def _listed(self, value: str) -> str:
        """Translate a header's list. Duplicates are removed, as two words may map to one."""
        return ", ".join(dict.fromkeys(self._translate_text(value).split(", ")))

    def _translate_text(self, text: str) -> str:
        """Translate a text that tocsin itself wrote."""

        def other(found: re.Match[str]) -> str:
            word = self._plain.get(found[0].lower())
            if word is None:
                return found[0]
            return _capital(word) if found[0][0].isupper() else word

        return WORD.sub(other, text)

    def _urls(self, text: str) -> str:
        if self._root not in text:
            return text
        return self._url.sub(lambda found: self._root + self._path(found[1]), text)

    def _path(self, path: str) -> str:
        for pattern, other in self._segments:
            path = pattern.sub(other, path, count=1)
        return path


def written(name: bytes) -> str:
    """Return a lower-case header name with the usual capitals."""
    return WORD.sub(lambda found: _capital(found[0]), name.decode())


def _capital(word: str) -> str:
    return CAPITALS.get(word, word.capitalize())


def _replaced(listed: bytes, forms: Mapping[str, str]) -> bytes:
    """Translate a JSON member that holds a list of scopes."""
    name, colon, items = listed.decode().partition(":")
    return (name + colon + WORD.sub(lambda found: forms.get(found[0], found[0]), items)).encode()
