"""Whose turn it is at the common limit."""

from house import Gate, House, until

from worker.lane import Lane
from worker.turns import SHARE, UNKNOWN, Turn, Turns


def lane(number: int, host: str) -> Lane:
    return Lane(number, host=host)


def taken(turns: Turns, host: str) -> list[Turn]:
    """All the turns that a host can get."""
    found = []
    while turns.may(host):
        found.append(turns.take(host))
    return found


def test_a_host_alone_gets_its_share_and_no_more() -> None:
    turns = Turns(900)
    assert len(taken(turns, "slow")) == 900 * SHARE // (SHARE + 1)
    assert len(taken(turns, "next")) > 50
    assert turns.may("third")


def test_few_turns_can_all_be_had_by_one() -> None:
    assert len(taken(Turns(5), "only")) == 5


def test_hosts_take_turns_and_within_a_host_its_lanes() -> None:
    turns = Turns(1)
    held = turns.take("a")
    for number, host in enumerate(("a", "a", "b", "a", "c")):
        turns.park(lane(number, host), now=float(number))
    assert turns.next() is None
    turns.give(held)
    order = []
    while found := turns.next():
        order.append(found.hook_id)
        assert not found.parked
    assert order == [0, 2, 4, 1, 3]
    assert turns.waits_since() is None


def test_a_turn_is_given_up_only_for_who_could_have_it() -> None:
    turns = Turns(90)
    held = taken(turns, "slow")
    turns.park(lane(1, "slow"), now=1.0)
    quick = turns.take("quick")
    assert not turns.wanted("quick")
    assert turns.waits_since() is None, "it waits for its own host"
    turns.park(lane(2, "other"), now=2.0)
    assert turns.wanted("quick")
    assert turns.waits_since() == 2.0
    turns.give(quick)
    for each in held:
        turns.give(each)
    assert turns.in_flight == 0
    assert not turns._of


def test_a_turn_moves_to_the_host_it_was_for_if_there_is_room() -> None:
    turns = Turns(9)
    unknown = [turns.take(UNKNOWN) for _ in range(9)]
    moved = [turns.move(turn, "slow") for turn in unknown]
    assert not turns.may("slow")
    for turn, there in zip(unknown, moved, strict=True):
        assert (turn.host == "slow") is there
        turns.give(turn)
    assert not turns._of


async def test_many_hooks_on_a_hanging_host_leave_room_for_another(house: House) -> None:
    gate = house.network.script = Gate(["slow.example"])
    slow = [house.hook(f"https://slow.example/{number}") for number in range(60)]
    quick = house.hook("https://quick.example/")
    await house.work(max_in_flight=18)
    for _ in range(3):
        await house.event()
    await until(lambda: house.states(quick) == {"delivered": 3})
    assert house.network.most["slow.example"] <= 16
    gate.opened.set()
    await house.over(delivered=3 * (len(slow) + 1))
    assert house.network.most["slow.example"] <= 16
