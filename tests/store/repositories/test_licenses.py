"""Known licenses, their recognition in a text, and the license files of repositories."""

import hashlib
import re
from importlib.resources import files

import pychoosealicense
import pytest
from required import required
from store_world import World

from store.errors import Invalid
from store.repositories import license_catalog, licenses
from store.repositories.license_catalog import KnownLicense
from store.repositories.licenses import LARGEST, LicenseFile, recognize

# Licenses that the library does not recognize from their texts.
UNRECOGNIZED = {"cecill-2.1", "cern-ohl-p-2.0"}


def text_of(key: str) -> str:
    known = required(license_catalog.get(key))
    return known.body.replace("[fullname]", "Ada Lovelace").replace("[year]", "2026")


def file_of(key: str, path: str = "LICENSE") -> LicenseFile:
    return LicenseFile(path, text_of(key).encode())


def test_common_licenses_come_first() -> None:
    every = license_catalog.list_all()
    featured = [one.key for one in every if one.featured]
    assert featured == ["apache-2.0", "gpl-3.0", "mit"] == [one.key for one in every[:3]]
    common = [one.key for one in every if one.common]
    assert common == [one.key for one in every[: len(common)]]
    assert {"bsd-3-clause", "mpl-2.0", "unlicense"} < set(common)
    assert len(every) > len(common) + 20
    assert len({one.key for one in every}) == len(every)


def test_a_known_license_has_its_terms() -> None:
    mit = required(license_catalog.get("MIT"))
    assert (mit.key, mit.name, mit.spdx_id) == ("mit", "MIT License", "MIT")
    assert "commercial-use" in mit.permissions
    assert mit.conditions == ("include-copyright",)
    assert "liability" in mit.limitations
    assert mit.body.startswith("MIT License\n\nCopyright (c) [year] [fullname]\n")
    assert "{" not in mit.implementation
    assert license_catalog.get("nothing") is None


@pytest.mark.parametrize("known", license_catalog.list_all(), ids=lambda one: one.key)
def test_every_known_text_is_recognized(known: KnownLicense) -> None:
    assert known.key == known.spdx_id.lower()
    expected = license_catalog.OTHER if known.key in UNRECOGNIZED else known.key
    assert recognize(text_of(known.key)) == expected


def test_headings_and_spaces_around_a_license_are_ignored() -> None:
    text = text_of("mit")
    assert recognize(text.replace("\n", "\r\n")) == "mit"
    assert recognize(f"# License\n\n{text}\n") == "mit"
    assert recognize("\n".join(f"   {line}" for line in text.split("\n"))) == "mit"


def test_an_unknown_license_is_not_recognized() -> None:
    mit = text_of("mit")
    for text in (
        "",
        "All rights reserved.",
        "This project is under the MIT license.",
        mit.replace("free of charge", "for a fee"),
        f"{mit}\n\n{text_of('apache-2.0')}",
    ):
        assert recognize(text) == license_catalog.OTHER


def test_a_file_is_looked_at_when_it_is_made() -> None:
    content = text_of("isc").encode()
    file = LicenseFile("COPYING", content)
    assert (file.license, file.html) == ("isc", None)
    blob = b"blob %d\0" % len(content) + content
    assert file.sha == hashlib.sha1(blob, usedforsecurity=False).hexdigest()
    assert LicenseFile("x", b"hello\n").sha == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_markdown_is_rendered() -> None:
    html = LicenseFile("License.MD", b"# Mine\n\n*All* of \xff it\0.\n").html
    assert html is not None
    assert html.startswith("<h1>Mine</h1>\n<p><em>All</em> of \N{REPLACEMENT CHARACTER} it")


@pytest.mark.parametrize("path", ["", "a" * 256, "a\0b", "/LICENSE"])
def test_bad_paths_of_licenses(path: str) -> None:
    with pytest.raises(Invalid):
        LicenseFile(path, b"")


def test_a_file_has_a_bound() -> None:
    LicenseFile("LICENSE", b"a" * LARGEST)
    with pytest.raises(Invalid, match="262,144 bytes"):
        LicenseFile("LICENSE", b"a" * (LARGEST + 1))


def test_a_branch_has_one_file(world: World) -> None:
    do, look, repo_id = world.store.write_sync, world.store.read_sync, world.repo["id"]
    mit = file_of("mit")
    assert do(licenses.put, repo_id, "main", mit)
    stored = required(look(licenses.get, repo_id, "main"))
    assert stored | {"content": bytes(stored["content"])} == {
        "repo_id": repo_id,
        "branch": "main",
        "path": "LICENSE",
        "sha": mit.sha,
        "content": mit.content,
        "html": None,
        "license": "mit",
        "updated_at": world.now,
    }
    assert look(licenses.get, repo_id, "next") is None
    world.clock.advance(5)
    assert not do(licenses.put, repo_id, "main", mit)
    assert look(licenses.get, repo_id, "main") == stored
    assert do(licenses.put, repo_id, "main", file_of("isc", "LICENSE.md"))
    changed = required(look(licenses.get, repo_id, "main"))
    assert (changed["license"], changed["path"]) == ("isc", "LICENSE.md")
    assert changed["html"].startswith("<p>ISC License</p>")
    assert changed["updated_at"] == world.now
    assert do(licenses.remove, repo_id, "main")
    assert not do(licenses.remove, repo_id, "main")


def test_the_license_of_many_is_that_of_their_default_branch(world: World) -> None:
    ids = [world.another_repo(f"r{number}")["id"] for number in range(3)]
    world.store.write_sync(licenses.put, ids[0], "main", file_of("mit"))
    world.store.write_sync(licenses.put, ids[1], "next", file_of("isc"))
    world.store.write_sync(licenses.put, ids[2], "main", LicenseFile("LICENSE", b"mine"))
    assert world.store.read_sync(licenses.license_of, ids) == {ids[0]: "mit", ids[2]: "other"}
    assert world.store.read_sync(licenses.license_of, []) == {}


# The package has turned the texts into templates for str.format: {fullname} was [fullname].
TEMPLATED = re.compile(r"\{\{|\}\}|\{(\w+)\}")


def untemplated(text: str) -> str:
    return TEMPLATED.sub(lambda found: f"[{found[1]}]" if found[1] else found[0][0], text)


def test_the_catalog_matches_choosealicense() -> None:
    names = [file.name for file in files("pychoosealicense._licenses").iterdir()]
    keys = {name.removesuffix(".txt") for name in names if name.endswith(".txt")}
    assert {one.key for one in license_catalog.list_all()} == keys
    for key in keys:
        known, found = pychoosealicense.get_license(key), license_catalog.get(key)
        assert found is not None
        assert (found.name, found.spdx_id) == (known.title, known.spdx_id)
        assert found.body == untemplated(known.content)
        assert found.description == untemplated(known.description)
        assert found.implementation == untemplated(known.how)
        assert found.permissions == tuple(rule.tag for rule in known.permissions)
        assert found.conditions == tuple(rule.tag for rule in known.conditions)
        assert found.limitations == tuple(rule.tag for rule in known.limitations)
        assert (found.featured, found.common) == (known.featured, not known.hidden)
