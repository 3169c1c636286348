"""A response's head and body go to the system in one write."""

import asyncio

import pytest

from hub.cli.http_server.response_writer import ONE_WRITE, ResponseWriter

HEAD, BODY = b"HTTP/1.1 200 OK\r\n\r\n", b"{}"


class FakeTransport:
    """A transport that records its writes and its close."""

    def __init__(self) -> None:
        self.calls: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        assert not self.is_closing()
        self.calls.append(data)

    def close(self) -> None:
        self.calls.append("close")

    def is_closing(self) -> bool:
        return "close" in self.calls


@pytest.fixture
def transport() -> FakeTransport:
    return FakeTransport()


@pytest.fixture
async def writer(transport):
    return ResponseWriter(transport, asyncio.get_running_loop())


async def test_a_head_and_its_body_are_one_write(writer, transport):
    writer.write(HEAD)
    assert transport.calls == []
    writer.write(BODY)
    assert transport.calls == [HEAD + BODY]
    await asyncio.sleep(0)
    assert transport.calls == [HEAD + BODY], "nothing is written twice"


async def test_a_head_without_its_body_is_written_in_the_next_pass(writer, transport):
    writer.write(HEAD)
    await asyncio.sleep(0)
    assert transport.calls == [HEAD]
    writer.write(b"data: 1\n\n")
    await asyncio.sleep(0)
    assert transport.calls == [HEAD, b"data: 1\n\n"]


async def test_pieces_keep_their_order(writer, transport):
    pieces = [b"%d" % number for number in range(7)]
    for number, piece in enumerate(pieces):
        writer.write(piece)
        if number == 3:
            await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert b"".join(transport.calls) == b"".join(pieces)


async def test_a_large_body_is_not_copied(writer, transport):
    body = b"x" * (ONE_WRITE + 1)
    writer.write(HEAD)
    writer.write(body)
    assert transport.calls == [HEAD, body]
    assert transport.calls[1] is body


async def test_closing_writes_the_held_head_first(writer, transport):
    writer.write(HEAD)
    writer.close()
    await asyncio.sleep(0)
    assert transport.calls == [HEAD, "close"]


async def test_nothing_is_written_to_a_closed_connection(writer, transport):
    writer.write(HEAD)
    transport.close()
    await asyncio.sleep(0)
    writer.flush()
    assert transport.calls == ["close"]


async def test_only_a_head_gets_a_capital(writer, transport):
    text = b"HTTP/1.1 200 OK\r\nlink: <x>\r\n\r\n"
    writer.is_head_next = True
    for _ in range(2):
        writer.write(text)
        writer.flush()
    assert transport.calls == [text.replace(b"link", b"Link"), text]
