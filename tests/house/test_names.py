"""No two classes share a name, and names use words that the field knows. Names of tests have
a subject, and no words that stand for a missing noun.
"""

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from statements import statements

ROOT = Path(__file__).parents[2]
PACKAGES = ("hub", "store", "worker")
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# One class is a schema of the API, whose name clients know. The other one is the worker's
# deliveries in memory.
TWICE = {"LeasedDeliveries"}
# Words for which the field has other ones. The test does not check names of settings and metrics.
PRIVATE_WORDS = """
administered agenda aim associations attempter beat beginnings completing courier deploy desk doors
drawing errand forgery furnish guids hear heart heir herald hopeless house importing interacting
judge looking merging numbering park passing poster pulse reading reflect replaceable replaying
safety seam seldom shapes strangers talk tell telling ticket timetable told unhurried visit witness
"""
# The guard that judges addresses. These modules may use the word.
JUDGES = {"worker/http/addresses.py", "worker/http/guard.py"}
# In the name of a test, these words replace a missing noun, or report, send, show or emit.
UNCLEAR_WORDS = {"what", "whatever", "who", "whoever", "whom", "tell", "telling", "tells", "told"}

# A name that begins with one of these words has no subject.
WORDS_BEFORE_A_SUBJECT = """
are do does for gets has have is it its may needs nor of takes that they to under was
"""


@functools.cache
def definitions() -> list[tuple[str, str, bool]]:
    """The names of classes and functions, each with its module and whether it is a class."""
    return [
        (str(path.relative_to(ROOT)), node.name, isinstance(node, ast.ClassDef))
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in statements(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, DEFINITIONS)
    ]


def names_of_tests() -> Iterator[tuple[str, str]]:
    """The names of all tests, each with its file."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for name in re.findall(r"\bdef (test_\w+)", path.read_text(encoding="utf-8")):
            yield str(path.relative_to(ROOT)), name


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_no_two_classes_have_one_name() -> None:
    found = defaultdict(set)
    for path, name, is_class in definitions():
        if is_class:
            found[name].add(path)
    assert {name: paths for name, paths in found.items() if len(paths) > 1}.keys() == TWICE


def test_no_name_has_a_private_word() -> None:
    named = [(path, name) for path, name, _ in definitions()]
    named += [(path, Path(path).stem) for path, _ in named]
    private = set(PRIVATE_WORDS.split())
    found = {(path, name) for path, name in named if words(name) & private and path not in JUDGES}
    assert found == set()


def test_names_of_tests_have_no_unclear_word() -> None:
    named = list(names_of_tests())
    assert ("tests/house/test_names.py", "test_names_are_split_into_words") in named
    assert [(path, name) for path, name in named if words(name) & UNCLEAR_WORDS] == []


def test_names_of_tests_begin_with_a_subject() -> None:
    wrong = set(WORDS_BEFORE_A_SUBJECT.split())
    assert [(path, name) for path, name in names_of_tests() if name.split("_")[1] in wrong] == []


def test_names_are_split_into_words() -> None:
    assert words("_TTLCache_of_hooks") == {"ttl", "cache", "of", "hooks"}
    assert words("test_a_whole_retold_story") & UNCLEAR_WORDS == set()
    assert words("test_who_is_told") & UNCLEAR_WORDS == {"who", "told"}
