"""The README stays short, and has all that a newcomer looks for."""

import re

import pytest
from manual import MANUAL, README, block, blocks, headings, links, tokens

MOST_LINES = 200
MOST_LINES_OF_EXAMPLE = 15
TEXT = README.read_text(encoding="utf-8")
SHELL = "".join(one.text for one in blocks(README, "sh"))


def section(title: str) -> str:
    """The text below a heading."""
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_readme_is_short() -> None:
    assert len(TEXT.splitlines()) <= MOST_LINES


def test_the_readme_has_its_sections_in_order() -> None:
    assert headings(README) == [
        "tocsin", "why", "why-not", "install", "subscribe-post-verify", "what-is-in-the-box",
        "the-manual", "status", "support", "licence",
    ]  # fmt: skip


def test_the_readme_begins_with_one_sentence_and_the_only_picture() -> None:
    sentence, picture = TEXT.split("\n\n")[1:3]
    assert re.findall(r"\.(\s|$)", sentence) == [""]
    assert picture.startswith("![")
    images = [child for token in tokens(README) for child in token.children or ()]
    assert [one.type for one in images].count("image") == 1


@pytest.mark.parametrize(
    "other",
    ["the platform's own webhooks", "Svix", "Convoy", "Outpost", "Hook0", "a queue of your own"],
)
def test_the_readme_compares_other_products(other: str) -> None:
    rows = [line for line in section("Why not").splitlines() if line.startswith(("| [", "| "))]
    (row,) = [one for one in rows if other in one.split("|")[1]]
    assert row.split("|")[-2].strip(), "the row does not say when to choose the product"


@pytest.mark.parametrize(
    "way",
    ["uv tool install", "pipx install", "pip install", "podman run", "tocsin systemd install"],
)
def test_each_way_to_install_is_named_and_tested(way: str) -> None:
    assert way in section("Install")
    assert way in SHELL


def test_the_example_is_short() -> None:
    starting = next(one.text for one in blocks(README, "sh") if "tocsin serve &" in one.text)
    example = starting + block(README, "sh", "example") + block(README, "python", "verify")
    lines = [line for line in example.splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES_OF_EXAMPLE
    assert "hub.mode=subscribe" in example


def test_the_readme_links_to_each_part_of_the_manual() -> None:
    folder = MANUAL.relative_to(README.parent)
    for part in ("index.md", "tutorial.md", "concepts.md", "how-to/", "explanation/"):
        assert [link for link in links(README) if link.startswith(f"{folder}/{part}")], part
