"""Short trials of what tocsin promises. `python -m tests.torture` runs long ones."""

from typing import Any

import pytest
from thoroughness import often

from tests.torture.__main__ import run
from tests.torture.faults import FAULTS
from tests.torture.finding import NOT_TRIED

# The rounds of each trial.
SHORT = {
    "ledger": often(14, 100),
    "machine": often(15, 100),
    "guard": often(400, 4_000),
    "fuzz": often(1_500, 15_000),
}


@pytest.mark.parametrize("name", SHORT)
def test_each_promise_is_kept(name: str) -> None:
    check(name, SHORT[name])


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_has_its_outcome(fault: str) -> None:
    check("faults", 1, names=[fault])


def check(name: str, rounds: int, **given: Any) -> None:
    findings = run(name, rounds, **given)
    missing = [each.seen for each in findings if each.what == NOT_TRIED]
    if missing:
        pytest.skip(missing[0])
    assert findings
    assert [each for each in findings if not each.kept] == []
