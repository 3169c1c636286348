"""Static headers: names, values and bounds that are allowed, and the values that are secret."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.endpoint_access import static_headers
from store.endpoint_access.static_headers import MOST_BYTES, MOST_HEADERS

NAMES = """
user-agent keep-alive proxy-authenticate proxy-authorization te trailers transfer-encoding
upgrade age cache-control clear-site-data expires pragma warning content-length content-type
content-encoding content-language content-location host connection expect trailer forwarded
via date content-digest signature signature-input traceparent tracestate origin
x-amz-a x-amzn-a x-google-a x-goog-a x-gfe-a x-azure-a x-fd-a x-svix-a svix-a webhook-a ce-a
x-hub-a x-github-a proxy-a sec-a webhook-request-a
"""
DENIED_BY_THE_FACTS = NAMES.split()


@pytest.mark.parametrize("name", DENIED_BY_THE_FACTS)
@pytest.mark.parametrize("form", [str.lower, str.upper, str.title])
def test_headers_that_others_determine_are_denied(name: str, form) -> None:
    with pytest.raises(ValueError, match="is not allowed"):
        static_headers.check({form(name): "1"})


@pytest.mark.parametrize(
    "name", ["", "a b", "a:b", "ä", "a\r\nb", "a\0", "(a)", "a,b", "a/b", "[a]"]
)
def test_names_are_tokens(name: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        static_headers.check({name: "1"})


@pytest.mark.parametrize(
    "value", ["", " a", "a ", "a\r\nB: c", "a\nb", "a\rb", "a\0b", "\ta", "a\tb", "ü", "a\x7f"]
)
def test_values_are_printable_and_errors_do_not_show_them(value: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII") as error:
        static_headers.check({"Authorization": f"{value}hunter2{value}" if value else value})
    assert "hunter2" not in str(error.value)


@given(st.dictionaries(st.text(max_size=30), st.text(max_size=30), max_size=4))
def test_no_header_breaks_out_of_its_line(headers: dict[str, str]) -> None:
    try:
        allowed = static_headers.check(headers)
    except ValueError:
        return
    text = "".join(f"{name}: {value}\r\n" for name, value in allowed.items())
    assert text.isascii()
    assert [static_headers.read_line(line) for line in text.split("\r\n")[:-1]] == [
        *headers.items()
    ]


def test_too_many_headers_are_refused() -> None:
    headers = {f"X-{number}": "1" for number in range(MOST_HEADERS)}
    assert static_headers.check(headers) == headers
    with pytest.raises(ValueError, match="at most 20"):
        static_headers.check(headers | {"X-More": "1"})


def test_headers_beyond_the_size_are_refused() -> None:
    room = MOST_BYTES - static_headers.size({"X-Long": ""})
    headers = {"X-Long": "a" * room}
    assert static_headers.check(headers) == headers
    with pytest.raises(ValueError, match="4096 bytes"):
        static_headers.check({"X-Long": "a" * (room + 1)})


def test_a_name_is_given_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        static_headers.check({"X-Env": "1", "x-env": "2"})


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("Authorization", True), ("Cookie", True), ("X-Api-Key", True), ("apikey", True),
        ("X-Auth", True), ("X-Access-Token", True), ("X-Secret", True), ("X-Passphrase", True),
        ("PRIVATE-TOKEN", True), ("X-Session-Id", True), ("X-Env", False), ("Tenant", False),
    ],
)  # fmt: skip
def test_the_names_of_secrets(name: str, secret: bool) -> None:
    assert static_headers.is_secret(name) is secret
