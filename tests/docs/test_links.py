"""The targets of all links and images exist, and the contents list every page."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from manual import MANUAL, ROOT, headings, links, manual_pages, named, tokens, written_pages

INDEX = MANUAL / "index.md"
PAGES = sorted({*written_pages(), *MANUAL.rglob("*.md")})


def is_local(link: str) -> bool:
    return not re.match(r"\w+:", link)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_and_their_anchors_lead_somewhere(page: Path) -> None:
    lost = []
    for link in filter(is_local, links(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / unquote(path)).resolve() if path else page
        if not target.exists() or (anchor and anchor not in headings(target)):
            lost.append(link)
    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_leave_the_web_encrypted(page: Path) -> None:
    assert [link for link in links(page) if not is_local(link) and link[:8] != "https://"] == []


def test_links_of_the_manual_stay_in_it() -> None:
    """The manual is shipped without the rest of the repository."""
    for page in MANUAL.rglob("*.md"):
        for link in filter(is_local, links(page)):
            target = (page.parent / link.partition("#")[0]).resolve()
            assert target.is_relative_to(MANUAL), f"{named(page)}: {link}"


def test_the_contents_list_every_page_once() -> None:
    listed = [(MANUAL / link).resolve() for link in links(INDEX)]
    assert sorted(listed) == sorted(set(MANUAL.rglob("*.md")) - {INDEX})


def test_the_contents_have_the_titles_of_the_pages() -> None:
    titles = dict(
        re.findall(r"^- \[(.*?)\]\((.*?)\): .", INDEX.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert len(titles) == len(links(INDEX))
    for page in manual_pages():
        if page != INDEX:
            first = page.read_text(encoding="utf-8").partition("\n")[0]
            link = str(page.relative_to(MANUAL))
            assert {title for title, to in titles.items() if to == link} == {first[2:]}


@pytest.mark.parametrize("page", manual_pages(), ids=named)
def test_a_page_has_one_title_and_no_html(page: Path) -> None:
    found = tokens(page)
    assert [token.tag for token in found if token.type == "heading_open"].count("h1") == 1
    inline = [child for token in found for child in token.children or ()]
    assert [token.content for token in (*found, *inline) if token.type.startswith("html")] == []


def test_files_that_contributors_are_shown_exist() -> None:
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = re.findall(r"`((?:hub|store|worker|tests|systemd)/[\w./]*)`", text)
    assert len(files) > 30
    assert [one for one in files if not (ROOT / one).exists()] == []
