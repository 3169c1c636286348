"""Markdown of the manual: anchors as GitHub has them, sections, links, and HTML without scripts."""

from pathlib import Path

import pytest

from hub.manual import markdown
from hub.manual.library import Entry, Manual, Part
from hub.manual.page import Page, served

SOURCE = """\
# First steps

Begin *here*.

## What's `next`?

See [concepts](concepts.md#hub) and ![a picture](images/a.png).

## What's `next`?

| a | b |
|---|--:|
| 1 | 2 |
"""


@pytest.mark.parametrize(
    ("heading", "slug"),
    [
        ("First steps", "first-steps"),
        ("What's `next`?", "whats-next"),
        ("POST /hub", "post-hub"),
        ("max_event_bytes", "max_event_bytes"),
        ("A – B", "a--b"),
    ],
)
def test_headings_get_slugs(heading: str, slug: str) -> None:
    assert markdown.slug(heading) == slug


def test_sections_have_anchors_that_differ() -> None:
    page = Page("tutorial", SOURCE)
    assert [one.anchor for one in page.sections] == ["first-steps", "whats-next", "whats-next-1"]
    assert page.title == "First steps"
    assert page.sections[0].text == "Begin here."


def test_a_page_becomes_html() -> None:
    html = Page("tutorial", SOURCE).html("docs/")
    assert '<h2 id="whats-next-1">' in html
    assert 'href="docs/concepts#hub"' in html
    assert 'src="docs/images/a.png"' in html
    assert '<td class="number">2</td>' in html
    assert '<div class="wide" tabindex="0" role="region" aria-label="Table:' in html
    assert "style=" not in html


@pytest.mark.parametrize(
    "bad", ["<script>x</script>", "[x](javascript:x)", '<p onclick="x">', "<iframe src=x>"]
)
def test_nothing_in_html_runs(bad: str) -> None:
    html = Page("x", f"# X\n\n{bad}\n").html()
    assert not [
        one for one in ("<script", 'href="javascript', 'onclick="', "<iframe") if one in html
    ]


@pytest.mark.parametrize(
    ("address", "within", "path"),
    [
        ("concepts.md", "", "concepts"),
        ("../reference/settings.md#retries", "", "../reference/settings#retries"),
        ("index.md", "", "./"),
        ("../index.md", "", "../"),
        ("#here", "docs/", "#here"),
        ("https://example.com/x.md", "docs/", "https://example.com/x.md"),
    ],
)
def test_links_lead_to_served_paths(address: str, within: str, path: str) -> None:
    assert served(address, within) == path


def test_contents_come_from_the_index(tmp_path: Path) -> None:
    (tmp_path / "how-to").mkdir()
    (tmp_path / "how-to" / "a.md").write_text("# A page\n")
    (tmp_path / "secret.txt").write_text("x")
    (tmp_path / "index.md").write_text(
        "# Contents\n\n- [not a part](b.md): x\n\n## How-to\n\n- [A](how-to/a.md): about\n"
    )
    made = Manual(tmp_path)
    assert made.contents == (Part("How-to", (Entry("how-to/a", "A", "about"),)),)
    assert set(made.pages) == {"index", "how-to/a"}
    assert made.file("secret.txt") == b"x"
    assert made.file("../secret.txt") is None
    assert made.file("how-to") is None


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("# A *plain* `title`\n\nText\n", "A plain title"),
        ("Text\n\n## Below\n", "Below"),
        ("Text\n", "name"),
    ],
)
def test_a_title_is_the_first_heading(source: str, title: str) -> None:
    assert Page("name", source).title == title
