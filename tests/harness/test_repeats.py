"""Repeated deliveries are checked against recorded attempts and kills, and not against times."""

import pytest
from repeats import Record, Sending, repeats

ONE, TWO = Sending("a", "one"), Sending("a", "two")
KILLED, DATABASE, ALIVE = "worker", "database", None


def record(*ends: tuple[Sending, bool]) -> Record:
    made = Record()
    for sending, delivered in ends:
        made.add(sending, delivered=delivered)
    return made


@pytest.mark.parametrize(
    ("received", "recorded", "lost", "wrong"),
    [
        pytest.param([(ONE, ALIVE)], [(ONE, True)], [], [], id="once"),
        pytest.param([(ONE, KILLED), (TWO, ALIVE)], [(TWO, True)], [ONE], [], id="lost at a kill"),
        pytest.param([(ONE, ALIVE), (TWO, ALIVE)], [(TWO, True)], [], [ONE], id="nobody killed"),
        pytest.param(
            [(ONE, KILLED), (TWO, ALIVE)], [(ONE, True), (TWO, True)], [], [ONE], id="recorded"
        ),
        pytest.param(
            [(ONE, ALIVE), (ONE, ALIVE)], [(ONE, False), (ONE, True)], [], [], id="failed first"
        ),
        pytest.param(
            [(ONE, ALIVE), (ONE, ALIVE)], [(ONE, True)], [], [ONE], id="twice by one process"
        ),
        pytest.param(
            [(ONE, KILLED), (ONE, KILLED), (TWO, ALIVE)], [(TWO, True)], [ONE], [ONE],
            id="a process has it in flight once",
        ),
        pytest.param(
            [(ONE, KILLED), (ONE, KILLED)], [(ONE, True)], [ONE], [], id="forgotten by the database"
        ),
        pytest.param(
            [(ONE, KILLED), (ONE, KILLED), (TWO, ALIVE)], [(ONE, False), (TWO, True)], [ONE], [],
            id="failed, then lost",
        ),
        pytest.param(
            [(ONE, DATABASE), (ONE, KILLED), (TWO, ALIVE)], [(TWO, True)], [ONE, ONE], [],
            id="lost at two kills",
        ),
    ],
)  # fmt: skip
def test_repeated_and_lost_deliveries_are_found(
    received: list[tuple[Sending, str | None]],
    recorded: list[tuple[Sending, bool]],
    lost: list[Sending],
    wrong: list[Sending],
) -> None:
    found = repeats(received, record(*recorded))
    assert ([sending for sending, _ in found.lost], found.wrong) == (lost, wrong)
