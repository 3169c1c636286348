"""The memory of all bodies, and the uploads that make room in it."""

import asyncio

import pytest
from waiting import PATIENCE

from hub.http.body_memory import BodyMemory
from hub.http.client_address import ClientAddresses
from store.errors import Busy

pytestmark = pytest.mark.anyio


@pytest.fixture
def memory() -> BodyMemory:
    return BodyMemory(10, ClientAddresses([]))


def scope(address: str) -> dict[str, object]:
    return {"client": (address, 1), "headers": []}


@pytest.mark.parametrize("seconds", [0, 60])
async def test_an_upload_makes_room_also_if_its_time_is_just_over(
    memory: BodyMemory, seconds: int
) -> None:
    reserved: list[int] = []

    def reserve() -> None:
        memory.reserve(scope("192.0.2.2"), 5)
        reserved.append(memory.held)

    deadline = asyncio.timeout(seconds)
    upload = memory.begin(scope("192.0.2.1"), deadline)

    async def wait() -> None:
        async with deadline:
            memory.add(upload, 8)
            # It runs after the deadline has passed, and before this task notices that.
            asyncio.get_running_loop().call_soon(reserve)
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await wait()
    assert reserved == [5]
    with pytest.raises(Busy):
        memory.add(upload, 1)
    assert memory.held == 5


async def test_uploads_make_no_room_for_a_client_that_takes_as_much(memory: BodyMemory) -> None:
    deadline = asyncio.timeout(PATIENCE)
    async with deadline:
        first, second = (memory.begin(scope(f"192.0.2.{n}"), deadline) for n in (1, 2))
        memory.add(first, 5)
        memory.add(second, 4)
        with pytest.raises(Busy):
            memory.add(second, 2)
        with pytest.raises(Busy):
            memory.reserve(scope("192.0.2.3"), 5)
        memory.end(first)
        with pytest.raises(Busy):
            memory.reserve(scope("192.0.2.3"), 4)
    assert memory.held == 9
