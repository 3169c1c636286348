"""No test depends on the speed of the machine. tests/harness/waiting.py explains the rule."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
FILES = [path for path in sorted(TESTS.rglob("*.py")) if "benchmarks" not in path.parts]
# Examples for the tests of `findings`.
WRONG = """
async with asyncio.timeout(30): pass
await asyncio.wait_for(task, 2.5)
process.communicate(timeout=60)
assert stopwatch.seconds() < 2
assert time.monotonic() - began < 5
assert time.process_time() - began < 5
assert 0.5 <= took.seconds() - before < 1
client = httpx.AsyncClient(base_url=url)
"""
RIGHT = """
async with asyncio.timeout(PATIENCE): pass
process.communicate(timeout=PATIENCE)
assert stopwatch.seconds() < 2 * other.seconds()
assert 0 < time.time() - float(text)
client = httpx.AsyncClient(base_url=url, timeout=PATIENCE)
client = httpx.AsyncClient(base_url=url, transport=transport)
hook = make(timeout=3)
"""
WAITING = {"communicate", "wait", "result", "join", "run", "get", "post", "check_output"}
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "seconds"}
# Each finding has one of these words. More than half of the modules have none, and are not parsed.
WORDS = re.compile("|".join(["timeout", "wait_for", "Client", *CLOCKS]))


def findings(code: str) -> Iterator[int]:
    """The lines that wait with a number as timeout, or compare a duration with a number."""
    if WORDS.search(code) is None:
        return
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and (_impatient(node) or _five_seconds(node)):
            yield node.lineno
        if (
            isinstance(node, ast.Compare)
            and _measured(node)
            and any(_number(side) for side in (node.left, *node.comparators))
        ):
            yield node.lineno


def _impatient(node: ast.Call) -> bool:
    name = _name(node.func)
    if name in ("timeout", "wait_for"):
        return any(map(_number, node.args))
    given = [each.value for each in node.keywords if each.arg == "timeout"]
    return name in WAITING and isinstance(node.func, ast.Attribute) and any(map(_number, given))


def _five_seconds(node: ast.Call) -> bool:
    """Whether a call makes an httpx client with the default timeout, which is five seconds."""
    own = isinstance(node.func, ast.Attribute) and node.func.attr in ("Client", "AsyncClient")
    return own and not {each.arg for each in node.keywords} & {"timeout", "transport"}


def _measured(node: ast.Compare) -> bool:
    return any(isinstance(each, ast.Call) and _name(each.func) in CLOCKS for each in ast.walk(node))


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value > 0


def test_no_test_depends_on_the_machine() -> None:
    found = [f"{path}:{line}" for path in FILES for line in findings(path.read_text())]
    assert found == []


def test_code_that_depends_on_speed_is_found() -> None:
    lines = WRONG.strip().splitlines()
    code = "async def test():\n" + "\n".join(f"    {line}" for line in lines)
    assert sorted({*findings(code)}) == [*range(2, len(lines) + 2)]


def test_other_code_is_not_found() -> None:
    code = "async def test():\n" + "\n".join(f"    {line}" for line in RIGHT.strip().splitlines())
    assert [*findings(code)] == []
