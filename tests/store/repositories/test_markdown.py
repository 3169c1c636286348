"""Markdown: the rendered forms, the removal of scripts, and the bound on the size."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.repositories.markdown import LARGEST, RenderedText, to_html, to_text


def test_markdown_has_source_html_and_text() -> None:
    rendered = RenderedText("# Well *done*\n\n- one\n- two & `<three>`")
    assert rendered.source == "# Well *done*\n\n- one\n- two & `<three>`"
    assert rendered.html == (
        "<h1>Well <em>done</em></h1>\n<ul>\n<li>one</li>\n"
        "<li>two &amp; <code>&lt;three&gt;</code></li>\n</ul>\n"
    )
    assert rendered.text == "Well done\n\none\ntwo & <three>"


def test_tables_and_strikethrough_are_rendered() -> None:
    assert "<td>1</td>" in to_html("| a |\n|---|\n| 1 |")
    assert to_html("~~no~~") == "<p><s>no</s></p>\n"


@pytest.mark.parametrize(
    "source",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        '<a href="javascript:alert(1)">x</a>',
        "<svg onload=alert(1)>",
        "<iframe src=//evil.example></iframe>",
        "<style>*{display:none}</style>",
        '<p style="position:fixed">x</p>',
        "<form action=//evil.example><input></form>",
        '<math><mi xlink:href="data:x,<script>alert(1)</script>">',
    ],
)
def test_nothing_runs(source: str) -> None:
    shown = to_html(source).lower()
    for sign in ("<script", "onerror", "onload", 'href="javascript', "<iframe", "<style", "style="):
        assert sign not in shown
    for sign in ("<form", "<svg", "<math", 'href="data'):
        assert sign not in shown


def test_links_pass_on_no_referrer() -> None:
    assert 'rel="noopener noreferrer"' in to_html("[x](https://else.example)")


def test_little_does_not_become_much() -> None:
    columns = "|".join("x" * 400)
    wide = f"|{columns}|\n|{'|'.join('-' * 400)}|\n" + "|x|\n" * 14_000
    shown = to_html(wide)
    assert shown.startswith("<pre>|x|x")
    assert len(shown) < LARGEST


def test_a_nul_is_left_out() -> None:
    assert to_html("a\0b") == "<p>ab</p>\n"


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="<>/&;\"'`*_[]()!|~-#\n ascriptonx=:.", max_size=80))
def test_no_text_makes_a_script(source: str) -> None:
    shown = to_html(source)
    assert "<script" not in shown.lower()
    assert isinstance(to_text(shown), str)
