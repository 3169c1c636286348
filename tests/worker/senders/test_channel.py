"""The channel between the worker and a sender process: whole messages, in their order."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from waiting import until

from worker.senders.channel import Message, MessageChannel


class End:
    """The messages that one end of a channel has received."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.lost = 0

    def on_lost(self) -> None:
        self.lost += 1


@asynccontextmanager
async def pair() -> AsyncIterator[tuple[MessageChannel, End, MessageChannel, End]]:
    ends = socket.socketpair()
    seen = End(), End()
    channels = []
    for end, one in zip(ends, seen, strict=True):
        end.setblocking(False)
        channels.append(await MessageChannel.open(end, one.messages.append, one.on_lost))
    try:
        yield channels[0], seen[0], channels[1], seen[1]
    finally:
        for channel in channels:
            channel.close()


async def test_messages_arrive_in_their_order_with_bytes_as_they_were() -> None:
    async with pair() as (ours, _, _, theirs):
        sent = [(number, b"\0\xff" * number, "ü", None, 1.5, ("a", True)) for number in range(200)]
        for message in sent[:100]:
            ours.send(message)
        await asyncio.sleep(0)
        for message in sent[100:]:
            ours.send(message)
        await until(lambda: len(theirs.messages) == 200)
        assert theirs.messages == sent


@pytest.mark.parametrize("size", [0, 65_536, 30_000_000])
async def test_a_large_message_keeps_the_order(size: int) -> None:
    body = os.urandom(1000) * (size // 1000)
    async with pair() as (ours, _, _, theirs):
        for message in ((1,), (2, body), (3,)):
            ours.send(message)
        await until(lambda: len(theirs.messages) == 3)
        assert theirs.messages == [(1,), (2, body), (3,)]


async def test_both_ends_send_at_once() -> None:
    async with pair() as (ours, seen, theirs, other):
        for number in range(50):
            ours.send((number, b"a" * 100_000))
            theirs.send((-number, b"b" * 100_000))
        await until(lambda: len(seen.messages) == len(other.messages) == 50)
        assert [message[0] for message in other.messages] == list(range(50))
        assert [message[0] for message in seen.messages] == [-number for number in range(50)]


async def test_the_end_of_one_side_is_seen_once_by_the_other() -> None:
    async with pair() as (ours, seen, _, other):
        ours.close()
        await until(lambda: other.lost)
        ours.send((1,))
        await asyncio.sleep(0)
        assert (seen.lost, other.lost, other.messages) == (1, 1, [])
