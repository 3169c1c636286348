"""What must not break, tried for a short time; `python -m tests.torture` tries for long."""

import pytest

from tests.torture.__main__ import run

# Name to how often.
SHORT = {"ledger": 30, "faults": 1, "machine": 15, "guard": 400, "fuzz": 1500}


@pytest.mark.parametrize("name", SHORT)
def test_what_is_promised_is_kept(name: str) -> None:
    findings = run(name, SHORT[name])
    if any(each.timed and not each.kept for each in findings):
        # What else was done on the machine may have made it slow once, and not twice.
        findings = run(name, SHORT[name])
    assert findings
    assert [each for each in findings if not each.kept] == []
