"""URLs and addresses that the guard allows, and its reasons for refusals."""

import asyncio
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import PATIENCE

from worker.http.addresses import EMBEDDING, FORBIDDEN_V4, FORBIDDEN_V6
from worker.http.guard import Endpoint, Guard, Refused

HOSTILE = """
http://127.0.0.1/
http://127.0.0.1:8080/x
http://127.255.255.254/
http://127.0.0.1./
http://127.1/
http://127.0.1/
http://127.1./
http://2130706433/
http://2130706433./
http://0177.0.0.1/
http://017700000001/
http://0x7f.0.0.1/
http://0x7f.1/
http://0X7F000001/
http://0x7f000001/
http://127.0.0.0x1/
http://127.0.0.01/
http://127.0.0.1.5/
http://127.0.0.256/
http://127.0.0.300/
http://4294967297/
http://99999999999999999999/
http://0x/
http://1.2.3.4.5/
http://8.8.2056/
http://134744072/
http://010.8.8.8/
http://１２７.０.０.１/
http://127。0。0。1/
http://127．0．0．1/
http://①②⑦.0.0.1/
http://８.8.8.8/
http://127%2e0%2e0%2e1/
http://%31%32%37.0.0.1/
http://127.0.0.1%00.example.com/
http://0/
http://0.0.0.0/
http://0.1.2.3/
http://10.0.0.1/
http://10.255.255.255/
http://100.64.0.1/
http://100.127.255.255/
http://100.100.100.200/latest/meta-data/
http://168.63.129.16/metadata
http://169.254.169.254/latest/meta-data/
http://0xa9fea9fe/
http://2852039166/
http://169.254.170.2/v2/credentials
http://169.254.0.1/
http://172.16.0.1/
http://172.31.255.255/
http://192.0.0.1/
http://192.0.0.192/opc/v2/
http://192.0.2.1/
http://192.88.99.1/
http://192.168.0.1/
http://192.168.255.255/
http://198.18.0.1/
http://198.19.255.255/
http://198.51.100.1/
http://203.0.113.1/
http://224.0.0.1/
http://239.255.255.255/
http://240.0.0.1/
http://255.255.255.255/
http://[::]/
http://[::1]/
http://[::1]:8080/
http://[0:0:0:0:0:0:0:1]/
http://[0000:0000:0000:0000:0000:0000:0000:0001]/
http://[::127.0.0.1]/
http://[::7f00:1]/
http://[::ffff:127.0.0.1]/
http://[::ffff:7f00:1]/
http://[::FFFF:169.254.169.254]/
http://[0:0:0:0:0:ffff:10.0.0.1]/
http://[::ffff:8.8.8.8]/
http://[::ffff:0:127.0.0.1]/
http://[64:ff9b::127.0.0.1]/
http://[64:ff9b::8.8.8.8]/
http://[64:ff9b:1::a00:1]/
http://[2002:7f00:1::]/
http://[2002:a9fe:a9fe::1]/
http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/
http://[2001:db8::1]/
http://[2001:2::1]/
http://[2001:10::1]/
http://[2001:20::1]/
http://[2001:1::1]/
http://[3fff::1]/
http://[3ffe::1]/
http://[5f00::1]/
http://[2606:4700::5efe:127.0.0.1]/
http://[2606:4700::200:5efe:7f00:1]/
http://[fe80::1]/
http://[fe80::1%eth0]/
http://[fe80::1%25eth0]/
http://[2606:4700::1111%251]/
http://[fec0::1]/
http://[fc00::1]/
http://[fd00::1]/
http://[fd00:ec2::254]/
http://[fd20:ce::254]/
http://[ff02::1]/
http://[100::1]/
http://[100:0:0:1::1]/
http://[1::1]/
http://[4000::1]/
http://[::1/
http://[::1]x/
http://[]/
http://[v1.fe80::1]/
http://[127.0.0.1]/
http://[１::1]/
http://::1/
http://localhost/
http://LOCALHOST:8000/
http://localhost./
http://app.localhost/
http://app.localhost./
http://ｌｏｃａｌｈｏｓｔ/
http://loc\u00adalhost/
http://user@example.com/
http://user:password@example.com/
http://@example.com/
http://example.com@127.0.0.1/
http://127.0.0.1:80@example.com/
http://example.com:80:80/
http://example.com:/
http://example.com:0/
http://example.com:00080/
http://example.com:65536/
http://example.com:8000000/
http://example.com:-80/
http://example.com:+80/
http://example.com:８０/
http://example.com:1_0/
http://example.com:22/
http://example.com:25/
http://example.com:81/
http://example.com:1023/
http://example.com:2049/
http://example.com:6000/
http://example.com:6667/
http://example.com:10080/
ftp://example.com/
file:///etc/passwd
gopher://example.com/
javascript://example.com/%0aalert(1)
ws://example.com/
unix:///run/docker.sock
data:text/plain,x
http:example.com
http:/example.com
http:///example.com/
http://
http://:80/
//example.com/
example.com
https://?x=1
http://example.com/#fragment
http://example.com#@127.0.0.1/
http://example.com\\@127.0.0.1/
http:\\\\127.0.0.1\\
http://example.com/a\\b
http://exa<mple.com/
http://exa^mple.com/
http://example..com/
http://.example.com/
http://example.com../
http://-example.com/
http://example-.com/
http://exam ple.com/
http://example.com/a b
http://xn--/
http://xn--a-/
http://xn--example-.com/
http://\u2488example.com/
http://exa\u2044mple.com/
http://exa／mple.com/
http://ex\u200dample.com/
http://☃.example.com:22/
"""
HOSTILE_URLS = [
    *(line.encode().decode("unicode_escape") if "\\u" in line else line.replace("\\\\", "\\")
      for line in HOSTILE.strip().splitlines()),
    "", " ", " http://example.com/", "http://example.com/ ", "http://example.com/\r\nHost: evil",
    "http://example.com/\tx", "http://exam\nple.com/", "http://example.com/\x00",
    "http://example.com/\x7f", "http://example.com/\u2028", "http://example.com/\xa0",
    "http://example.com/\x85", "http://example.com/\ud800",
    "http://" + "a" * 64 + ".com/", "http://" + "a." * 127 + "com/",
    "http://example.com/" + "x" * 2048,
]  # fmt: skip

NEAR_MISSES = [
    # url, host, port, target, authority
    ("https://example.com:8443/x?y=%41", "example.com", 8443, "/x?y=%41", "example.com:8443"),
    ("http://8.8.8.8", "8.8.8.8", 80, "/", "8.8.8.8"),
    ("http://172.15.255.255/", "172.15.255.255", 80, "/", "172.15.255.255"),
    ("http://172.32.0.1/", "172.32.0.1", 80, "/", "172.32.0.1"),
    ("http://100.63.255.255/", "100.63.255.255", 80, "/", "100.63.255.255"),
    ("http://100.128.0.1/", "100.128.0.1", 80, "/", "100.128.0.1"),
    ("http://192.0.1.1/", "192.0.1.1", 80, "/", "192.0.1.1"),
    ("http://192.0.3.1/", "192.0.3.1", 80, "/", "192.0.3.1"),
    ("http://192.167.255.255/", "192.167.255.255", 80, "/", "192.167.255.255"),
    ("http://192.169.0.1/", "192.169.0.1", 80, "/", "192.169.0.1"),
    ("http://198.17.255.255/", "198.17.255.255", 80, "/", "198.17.255.255"),
    ("http://198.20.0.1/", "198.20.0.1", 80, "/", "198.20.0.1"),
    ("http://11.0.0.1/", "11.0.0.1", 80, "/", "11.0.0.1"),
    ("http://9.255.255.255/", "9.255.255.255", 80, "/", "9.255.255.255"),
    ("http://1.0.0.1/", "1.0.0.1", 80, "/", "1.0.0.1"),
    ("http://126.255.255.255/", "126.255.255.255", 80, "/", "126.255.255.255"),
    ("http://128.0.0.1/", "128.0.0.1", 80, "/", "128.0.0.1"),
    ("http://169.253.1.1/", "169.253.1.1", 80, "/", "169.253.1.1"),
    ("http://169.255.1.1/", "169.255.1.1", 80, "/", "169.255.1.1"),
    ("http://168.63.129.17/", "168.63.129.17", 80, "/", "168.63.129.17"),
    ("http://223.255.255.255/", "223.255.255.255", 80, "/", "223.255.255.255"),
    ("http://[2606:4700::1111]/", "2606:4700::1111", 80, "/", "[2606:4700::1111]"),
    ("https://[2001:200::1]:8443/", "2001:200::1", 8443, "/", "[2001:200::1]:8443"),
    ("https://[2606:4700:0:0::1111]/", "2606:4700::1111", 443, "/", "[2606:4700::1111]"),
    ("http://127.0.0.1.example.com/", "127.0.0.1.example.com", 80, "/", "127.0.0.1.example.com"),
    ("http://0x7f.example.com/", "0x7f.example.com", 80, "/", "0x7f.example.com"),
    ("http://10.example/", "10.example", 80, "/", "10.example"),
    ("http://localhost.example.com/", "localhost.example.com", 80, "/", "localhost.example.com"),
    ("http://notlocalhost/", "notlocalhost", 80, "/", "notlocalhost"),
    ("http://1e3/", "1e3", 80, "/", "1e3"),
    ("http://my_host.example.com/", "my_host.example.com", 80, "/", "my_host.example.com"),
    ("http://a--b.example.com/", "a--b.example.com", 80, "/", "a--b.example.com"),
    ("https://bücher.example/", "xn--bcher-kva.example", 443, "/", "xn--bcher-kva.example"),
    ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, "/", "xn--bcher-kva.example"),
    ("https://xn--i-7iq.ws/", "xn--i-7iq.ws", 443, "/", "xn--i-7iq.ws"),
    ("HTTPS://EXAMPLE.com/A", "example.com", 443, "/A", "example.com"),
    ("https://example.com./", "example.com", 443, "/", "example.com"),
    ("https://example.com:443/", "example.com", 443, "/", "example.com"),
    ("https://example.com:80/", "example.com", 80, "/", "example.com:80"),
    ("https://example.com?a=b", "example.com", 443, "/?a=b", "example.com"),
    ("https://example.com:65535/", "example.com", 65535, "/", "example.com:65535"),
    ("https://example.com/grüße", "example.com", 443, "/gr%C3%BC%C3%9Fe", "example.com"),
    ("https://example.com/http://127.0.0.1/", "example.com", 443, "/http://127.0.0.1/",
     "example.com"),
    ("https://example.com/a@b:c?d@e", "example.com", 443, "/a@b:c?d@e", "example.com"),
]  # fmt: skip


@pytest.fixture
def guard():
    guard = Guard()
    yield guard
    guard.close()


def answers(*each: list[str]) -> Callable[[str, int], Awaitable[list[str]]]:
    """A resolver that returns these lists in turn, and the last one from then on."""
    left = list(each)

    async def resolve(host: str, port: int) -> list[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    return resolve


@pytest.mark.parametrize("url", HOSTILE_URLS, ids=ascii)
def test_hostile_urls_are_refused(guard: Guard, url: str):
    with pytest.raises(Refused) as refused:
        guard.endpoint(url)
    assert refused.value.subject
    assert refused.value.rule in str(refused.value)
    assert "setting" in str(refused.value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(("url", "host", "port", "target", "authority"), NEAR_MISSES)
def test_near_misses_pass(
    guard: Guard, url: str, host: str, port: int, target: str, authority: str
):
    endpoint = guard.endpoint(url)
    assert endpoint == Endpoint(url.partition(":")[0].lower(), host, port, target)
    assert endpoint.authority == authority


def test_the_tables_are_long_enough():
    assert len(HOSTILE_URLS) >= 90
    assert len(NEAR_MISSES) >= 15


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="#\\")))
def test_the_target_stays_as_it_is(rest: str):
    guard = Guard()
    assert guard.endpoint("https://example.com/" + rest).target == "/" + rest
    guard.close()


@given(st.text())
def test_every_text_is_an_endpoint_or_refused(text: str):
    guard = Guard()
    for url in (text, "http://" + text, f"http://{text}.com/", "http://xn--" + text + "/"):
        try:
            endpoint = guard.endpoint(url)
        except Refused:
            continue
        assert endpoint.authority.isascii()
        assert endpoint.target.isascii()
    guard.close()


NETWORKS = [ip_network(row[0]) for row in (*FORBIDDEN_V4, *FORBIDDEN_V6, *EMBEDDING)]


@given(st.sampled_from(NETWORKS).flatmap(lambda network: st.ip_addresses(network=network)))
def test_no_spelling_of_a_forbidden_address_passes(address: IPv4Address | IPv6Address):
    guard = Guard()
    with pytest.raises(Refused):
        guard.check_address(str(address))
    for host in spellings(address):
        with pytest.raises(Refused):
            guard.endpoint(f"http://{host}/")
    guard.close()


@given(st.ip_addresses(v=4))
def test_no_ipv6_form_around_an_ipv4_address_passes(address: IPv4Address):
    guard = Guard()
    for text in around(address):
        with pytest.raises(Refused):
            guard.check_address(text)
    guard.close()


def spellings(address: IPv4Address | IPv6Address) -> list[str]:
    if isinstance(address, IPv6Address):
        return [f"[{address}]", f"[{address.exploded}]", f"[{str(address).upper()}]"]
    number, (a, b, c, d) = int(address), address.packed
    wide = str(address).translate({code: code + 0xFEE0 for code in range(0x30, 0x3A)})
    dotted = [str(address), f"{address}.", f"{a}.{b}.{c * 256 + d}", f"{a}.{number & 0xFFFFFF}"]
    odd = [f"0{a:o}.0{b:o}.0{c:o}.0{d:o}", f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}", f"{number:#x}"]
    mixed = [f"0x{a:x}.{b}.0{c:o}.{d}", f"0{number:o}", str(number), wide, wide.replace(".", "。")]
    return dotted + odd + mixed + [f"[{text}]" for text in around(address)]


def around(address: IPv4Address) -> list[str]:
    number = int(address)
    forms = [number, number | 0xFFFF << 32, number | 0xFFFF << 48, number | 0x64FF9B << 96]
    forms += [0x64FF9B0001 << 80 | number, 0x2002 << 112 | number << 80]
    forms += [0x20010000 << 96 | number ^ 0xFFFFFFFF, 0x26064700 << 96 | 0x5EFE << 32 | number]
    return [str(IPv6Address(form)) for form in forms]


@pytest.mark.parametrize(
    ("address", "rule", "sentence"),
    [
        ("127.0.0.1", "loopback (127.0.0.0/8, RFC 1122)", None),
        ("169.254.169.254", "cloud metadata service (169.254.169.254/32, AWS, Azure, Google Cloud"
         " and others)", None),
        ("::1", "loopback (::1/128, RFC 4291)", None),
        ("2002:a00:1::", "6to4 (2002::/16, RFC 3056), which stands for 10.0.0.1", None),
        ("2001:0:4136:e378:8000:63bf:80ff:fffe",
         "Teredo (2001::/32, RFC 4380), which stands for 127.0.0.1", None),
        ("10.0.0.1", "private (10.0.0.0/8, RFC 1918)",
         "10.0.0.1 is refused: private (10.0.0.0/8, RFC 1918); the setting allow_networks can"
         " allow it"),
    ],
)  # fmt: skip
def test_a_refusal_names_address_rule_and_setting(
    guard: Guard, address: str, rule: str, sentence: str | None
):
    with pytest.raises(Refused) as refused:
        guard.check_address(address)
    found = refused.value
    assert (found.subject, found.rule, found.setting) == (address, rule, "allow_networks")
    assert str(found) == sentence or sentence is None


def test_a_refusal_names_the_setting_that_allows_it(guard: Guard):
    with pytest.raises(Refused, match="no setting allows it") as refused:
        guard.endpoint("http://user@example.com/")
    assert refused.value.setting is None
    with pytest.raises(Refused, match="callback_ports") as refused:
        guard.endpoint("http://example.com:81/")
    assert refused.value.setting == "callback_ports"


def test_other_ports():
    guard = Guard(ports="81, 8000-8001")
    assert guard.endpoint("http://example.com:81/").port == 81
    for port in (80, 7999, 8002):
        with pytest.raises(Refused):
            guard.endpoint(f"http://example.com:{port}/")
    guard.close()


@pytest.mark.parametrize("ports", ["", "0", "x", "80-79", "65536", "80-", "1-2-3"])
def test_odd_port_settings(ports: str):
    with pytest.raises(ValueError):
        Guard(ports=ports)


def test_odd_network_settings():
    with pytest.raises(ValueError):
        Guard(allow_networks=["10.0.0.1/8"])


def test_allowed_networks_win():
    guard = Guard(allow_networks=["127.0.0.0/8", "fd00::/8", "64:ff9b::/96"])
    for host in ("127.0.0.1", "[fd00::1]", "[fd00:ec2::254]", "[::ffff:127.0.0.1]", "localhost",
                 "app.localhost", "[64:ff9b::8.8.8.8]"):  # fmt: skip
        guard.endpoint(f"http://{host}:8000/")
    for host in ("10.0.0.1", "[::1]", "[::ffff:10.0.0.1]", "[::127.0.0.1]", "2130706433"):
        with pytest.raises(Refused):
            guard.endpoint(f"http://{host}:8000/")
    guard.close()


async def test_an_address_resolves_to_itself(guard: Guard):
    assert await guard.resolve(guard.endpoint("http://8.8.8.8/")) == ["8.8.8.8"]
    with pytest.raises(Refused):
        await guard.resolve(Endpoint("http", "127.0.0.1", 80, "/"))


async def test_one_forbidden_answer_refuses_them_all():
    guard = Guard(resolver=answers(["8.8.8.8", "2606:4700::1111", "10.1.2.3", "1.1.1.1"]))
    with pytest.raises(Refused) as refused:
        await guard.resolve(guard.endpoint("http://internal.example/"))
    assert refused.value.subject == "10.1.2.3"
    assert str(refused.value).startswith("10.1.2.3 (an address of internal.example) is refused")
    guard.close()


async def test_the_guard_returns_the_addresses_that_it_checked():
    guard = Guard(resolver=answers(["8.8.8.8"], ["127.0.0.1"]))
    endpoint = guard.endpoint("http://rebind.example/")
    assert await guard.resolve(endpoint) == ["8.8.8.8"]
    with pytest.raises(Refused):
        await guard.resolve(endpoint)
    guard.close()


@pytest.mark.parametrize("found", [[], [f"8.8.8.{n}" for n in range(65)]])
async def test_no_answer_or_too_many_is_an_error(found: list[str]):
    guard = Guard(resolver=answers(found))
    with pytest.raises(OSError, match=r"addresses for example\.com"):
        await guard.resolve(guard.endpoint("http://example.com/"))
    guard.close()


async def test_an_answer_with_a_zone_or_nonsense_is_refused():
    for text in ("fe80::1%eth0", "nonsense"):
        guard = Guard(resolver=answers([text]))
        with pytest.raises(Refused):
            await guard.resolve(guard.endpoint("http://example.com/"))
        guard.close()


async def test_a_name_that_does_not_resolve_is_accepted_when_it_is_saved():
    async def never(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    async def hangs(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    await Guard(resolver=hangs, check_seconds=0.02).judge("https://example.com/")
    for resolver in (never, answers([]), answers(["8.8.8.8"])):
        await Guard(resolver=resolver, check_seconds=PATIENCE).judge("https://example.com/")
    for url in ("https://example.com/", "https://user@example.com/", "https://10.0.0.1/"):
        guard = Guard(resolver=answers(["127.0.0.1"]), check_seconds=PATIENCE)
        with pytest.raises(Refused):
            await guard.judge(url)


async def test_the_system_resolver_finds_localhost():
    guard = Guard(allow_networks=["127.0.0.0/8", "::1/128"])
    found = await guard.resolve(guard.endpoint("http://localhost:8000/"))
    assert set(found) <= {"127.0.0.1", "::1"}
    with pytest.raises(OSError):
        await guard.resolve(Endpoint("http", "no-such-name.invalid", 80, "/"))
    guard.close()
