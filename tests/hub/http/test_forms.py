"""Forms: urlencoded and multipart ones, as clients send them."""

import threading
from typing import Any
from urllib.parse import parse_qsl

import pytest
from engines import embedded
from hub_client import open_client

from hub.http import body as request_body
from hub.http import forms
from hub.http.errors import Malformed
from hub.http.forms import MAX_FIELDS, URLENCODED, read_form
from hub.settings import HubSettings
from store import Store

BOUNDARY = "multipart/form-data; boundary=x"


def read(content_type: str, body: bytes) -> dict[str, str]:
    return read_form(body, {"headers": [(b"content-type", content_type.encode("latin-1"))]})


def part(name: str, value: bytes, more: bytes = b"") -> bytes:
    disposition = b'Content-Disposition: form-data; name="' + name.encode() + b'"' + more
    return b"--x\r\n" + disposition + b"\r\n\r\n" + value + b"\r\n"


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        (BOUNDARY, part("a", b"1") + part("b", b"2") + b"--x--\r\n", {"a": "1", "b": "2"}),
        (BOUNDARY, b"before\r\n" + part("a", b"1") + b"--x--\r\nafter", {"a": "1"}),
        ('multipart/form-data; boundary="a b"; charset=utf-8',
         b"--a b \t\r\ncontent-disposition:form-data; name=a\r\nContent-Type: text/plain\r\n"
         b"\r\n1\r\n--a b--",
         {"a": "1"}),
        (BOUNDARY, part("a", "ä\r\n--y\r\n\r\n".encode()) + b"--x--", {"a": "ä\r\n--y\r\n\r\n"}),
        (BOUNDARY, part("ä", b"") + b"--x--", {"ä": ""}),
        (BOUNDARY, part('a\\"b\\\\;', b"") + b"--x--", {'a"b\\;': ""}),
        (BOUNDARY, part("a", b"1", b'; filename=""; filename*=b') + b"--x--", {"a": "1"}),
        ("multipart/form-data; x=y;BOUNDARY = \xff ; z", b"--\xff--", {}),
        (BOUNDARY, part("a", b"1") + part("a", b"2") + b"--x--", {"a": "2"}),
        (BOUNDARY, part("a", b"1") * MAX_FIELDS + b"--x--", {"a": "1"}),
        (BOUNDARY, b"--x--", {}),
        ("application/x-www-form-urlencoded", b"a=1&a=2&b=", {"a": "2", "b": ""}),
        ("application/json", b'{"a": 1}', {}),
    ],
)  # fmt: skip
def test_fields_of_forms_are_read(content_type: str, body: bytes, expected: dict[str, str]) -> None:
    assert read(content_type, body) == expected


@pytest.mark.parametrize("parts", [b";", b'"', b'\\"', b'x="', b"x ", b"; x", b'; x="', b" \\"])
def test_long_parameters_take_no_time_that_grows_with_their_square(parts: bytes) -> None:
    """With such a time, this would take hours."""
    long = b'; y="' + parts * 1_000_000
    for content_type, body in (
        (f"multipart/form-data{long.decode()}", b"--x--"),
        (BOUNDARY, b"--x\r\nContent-Disposition: form-data%b\r\n\r\n\r\n--x--" % long),
    ):
        with pytest.raises(Malformed):
            read(content_type, body)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (BOUNDARY, b""),
        (BOUNDARY, b"nonsense"),
        (BOUNDARY, part("a", b"\0") + b"--x--"),
        (BOUNDARY, part("a\0", b"1") + b"--x--"),
        ("application/x-www-form-urlencoded", b"a=%00"),
        ("application/x-www-form-urlencoded", b"a%00=b"),
        (BOUNDARY, part("a", b"1")),
        (BOUNDARY, part("a", b"1")[:-2]),
        (BOUNDARY, part("a", b"1") * (MAX_FIELDS + 1) + b"--x--"),
        (BOUNDARY, part("a", b"1", b'; filename="b"') + b"--x--"),
        (BOUNDARY, part("a", b"\xff") + b"--x--"),
        (BOUNDARY, part("", b"1") + b"--x--"),
        (BOUNDARY, b"--x\r\n\r\n1\r\n--x--"),
        (BOUNDARY, b"--xy\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--x--"),
        ("multipart/form-data", part("a", b"1") + b"--x--"),
        ("multipart/form-data; boundary=", part("a", b"1") + b"--x--"),
    ],
)
def test_broken_forms_are_refused(content_type: str, body: bytes) -> None:
    with pytest.raises(Malformed):
        read(content_type, body)


@embedded("forms are not in the store")
async def test_a_large_form_does_not_hold_the_event_loop(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def parse(*given: Any, **options: Any) -> list[tuple[str, str]]:
        threads.append(threading.current_thread())
        return parse_qsl(*given, **options)

    monkeypatch.setattr(request_body, "LARGE", 50)
    monkeypatch.setattr(forms, "parse_qsl", parse)
    headers = {"Content-Type": URLENCODED, "Authorization": f"Bearer {seed.token}"}
    async with open_client(store, HubSettings(websub=True), headers=headers) as client:
        client.event_hooks = {}
        for path in ("/hub", "/hub/websub"):
            for body in (b"a=b", b"a=" + b"%41" * 50):
                answer = await client.post(path, content=body)
                assert answer.status_code in (400, 422)
    assert [one is threading.main_thread() for one in threads] == [True, False] * 2
