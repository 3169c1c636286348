"""The rewrite of imported histories to renamed authors: commits, tags, signatures and limits."""

from pathlib import Path

import pytest
from git_site import ADA, BOB, git, person, stream

from worker.imports.git_objects import (
    IMPORTED_REFS,
    MAX_OBJECT_BYTES,
    UnsupportedHistory,
    authors_of,
    objects,
    refs,
    tags,
)
from worker.imports.hg_export import person_of
from worker.imports.rewrite import rewrite
from worker.imports.survey import author_digest, printable, survey

EVE = {author_digest(b"Ada", b"ada@tower.example"): ("Eve Ö", "eve@tower.example")}
SIGNED = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEz\n -----END PGP SIGNATURE-----\n"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = tmp_path / "source.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(made))
    return made


def wrote(repo: Path, kind: str, content: bytes) -> str:
    """Write an object without a check of its format, and return its id."""
    return git(repo, "hash-object", "-t", kind, "-w", "--literally", "--stdin", given=content)


def point(repo: Path, name: str, oid: str) -> None:
    git(repo, "update-ref", IMPORTED_REFS + name, oid)


def read(repo: Path, oid: str) -> bytes:
    kind = git(repo, "cat-file", "-t", oid)
    return git(repo, "cat-file", kind, oid).encode()


def commit(repo: Path, *parents: str, **who: str) -> str:
    tree = git(repo, "write-tree")
    named = [part for parent in parents for part in ("-p", parent)]
    return git(repo, "commit-tree", tree, *named, "-m", "Ring", **(ADA | who))


def test_without_a_mapping_no_author_changes(repo: Path) -> None:
    git(repo, "fast-import", "--quiet", given=stream(5))
    git(repo, "fetch", "-q", ".", f"+refs/*:{IMPORTED_REFS}*")
    assert rewrite(repo, {}) == {"rewritten": 0}
    for name in ("heads/main", "heads/quiet", "tags/v0", "tags/v1"):
        assert git(repo, "rev-parse", f"refs/{name}") == git(
            repo, "rev-parse", IMPORTED_REFS + name
        )


def test_only_commits_of_the_author_change(repo: Path) -> None:
    root = commit(repo, **BOB)
    side, main = commit(repo, root, **BOB), commit(repo, root)
    merge = commit(repo, main, side, **BOB)
    for name, oid in (("heads/main", merge), ("heads/side", side)):
        point(repo, name, oid)
    assert rewrite(repo, EVE) == {"rewritten": 2}
    assert git(repo, "rev-parse", "side") == side
    parents = git(repo, "log", "-1", "--format=%P", "main").split()
    assert parents[1] == side
    assert parents[0] != main
    before, after = read(repo, main).decode(), read(repo, parents[0]).decode()
    assert after == before.replace("Ada <ada@tower.example>", "Eve Ö <eve@tower.example>")
    assert git(repo, "fsck", "--strict") == ""


def test_invalid_signatures_are_removed(repo: Path) -> None:
    tree = git(repo, "write-tree").encode()
    who = b"Ada <ada@tower.example> 1700000000 +0100"
    head = b"tree %b\nauthor %b\ncommitter %b\n" % (tree, who, who)
    signed = wrote(repo, "commit", head + SIGNED + b"x-more a\n b\n\nRing\n")
    tag = b"object %b\ntype commit\ntag v1\ntagger %b\n\nOne\n" % (signed.encode(), who)
    tag += b"-----BEGIN PGP SIGNATURE-----\n\niQEz\n-----END PGP SIGNATURE-----\n"
    other = wrote(repo, "commit", head.replace(b"Ada", b"Bob") + SIGNED + b"\nRing\n")
    point(repo, "heads/main", signed)
    point(repo, "heads/other", other)
    point(repo, "tags/v1", wrote(repo, "tag", tag))
    rewrite(repo, EVE)
    assert git(repo, "rev-parse", "other") == other
    eve = head.decode().replace("Ada <ada", "Eve Ö <eve")
    assert read(repo, git(repo, "rev-parse", "main")).decode() == eve + "x-more a\n b\n\nRing"
    made = read(repo, git(repo, "rev-parse", "v1")).decode()
    assert made.endswith("Eve Ö <eve@tower.example> 1700000000 +0100\n\nOne")


def test_tags_of_all_sorts(repo: Path) -> None:
    blob = wrote(repo, "blob", b"a key")
    made = commit(repo)
    tags, inner = [], made
    for at, (kind, oid) in enumerate((("commit", made), ("tag", ""), ("tag", ""), ("blob", blob))):
        who = b"Ada <ada@tower.example> 1700000000 +0100"
        reported = f"object {oid or inner}\ntype {kind}\ntag t{at}\ntagger ".encode()
        inner = wrote(repo, "tag", reported + who + b"\n\nT\n")
        tags.append(inner)
        point(repo, f"tags/t{at}", inner)
    point(repo, "tags/plain-blob", blob)
    assert rewrite(repo, EVE) == {"rewritten": 5}
    assert git(repo, "rev-parse", "t2^{commit}") == git(repo, "rev-parse", "t0^{commit}")
    assert git(repo, "rev-parse", "t2^{commit}") != made
    assert git(repo, "rev-parse", "t3^{}") == git(repo, "rev-parse", "plain-blob") == blob
    assert git(repo, "fsck") == ""


def test_other_encodings_and_odd_people(repo: Path) -> None:
    tree = git(repo, "write-tree").encode()
    point(
        repo,
        "heads/latin",
        wrote(
            repo,
            "commit",
            b"tree %b\nauthor J\xf6rg <j@x> 1 +0000\ncommitter Ada <ada@tower.example> 1 +0000\n"
            b"encoding ISO-8859-1\n\nGr\xfc\xdfe\n" % tree,
        ),
    )
    odd = b"tree %b\nauthor <> 1 +0000\ncommitter Ada 1 +0000\n\nOdd\n" % tree
    point(repo, "heads/odd", wrote(repo, "commit", odd))
    assert printable(b"J\xf6rg\x07") == "Jörg"
    found = survey(repo, 100, lambda count: None)
    assert {name for _, name, _ in found.authors} == {"Jörg", "Ada", ""}
    renamed = EVE | {author_digest(b"J\xf6rg", b"j@x"): ("Jürgen", "j@x")}
    assert rewrite(repo, renamed) == {"rewritten": 1}
    shown_log = git(repo, "log", "-1", "--format=%an, %cn: %s", "--encoding=UTF-8", "latin")
    assert shown_log == "Jürgen, Eve Ö: Grüße"


def test_once_more_under_other_names(repo: Path) -> None:
    made = commit(repo)
    point(repo, "heads/main", made)
    rewrite(repo, EVE)
    git(repo, "update-ref", "refs/heads/stale", "main")
    rewrite(repo, {})
    assert git(repo, "rev-parse", "main") == made
    assert "stale" not in git(repo, "for-each-ref")


def test_refs_that_are_called_as_ours(repo: Path) -> None:
    made = commit(repo)
    point(repo, "heads/main", made)
    point(repo, "tocsin/source/heads/main", commit(repo, made))
    rewrite(repo, {})
    assert git(repo, "rev-parse", f"{IMPORTED_REFS}heads/main") == made


def test_hashes_of_256_bits(tmp_path: Path) -> None:
    repo = tmp_path / "new.git"
    git(tmp_path, "init", "-q", "--bare", "--object-format=sha256", str(repo))
    point(repo, "heads/main", commit(repo))
    assert rewrite(repo, EVE) == {"rewritten": 1}
    assert git(repo, "log", "-1", "--format=%an", "refs/heads/main") == "Eve Ö"


def test_two_commits_can_become_the_same(repo: Path) -> None:
    one, other = commit(repo), commit(repo, **BOB)
    point(repo, "heads/one", one)
    point(repo, "heads/other", other)
    bob = author_digest("Bob Ölm".encode(), b"bob@tower.example")
    both = EVE | {bob: ("Eve Ö", "eve@tower.example")}
    assert rewrite(repo, both) == {"rewritten": 2}
    assert git(repo, "rev-parse", "one") == git(repo, "rev-parse", "other")


def test_an_object_that_is_too_large_is_rejected(repo: Path) -> None:
    point(repo, "heads/main", commit(repo))
    assert MAX_OBJECT_BYTES > 1024
    assert len([*objects(repo, "rev-list", "--all")]) == 1
    with pytest.raises(UnsupportedHistory, match="bytes"):
        [*objects(repo, "rev-list", "--all", max_bytes=10)]


def test_a_tag_that_is_too_large_is_rejected(repo: Path) -> None:
    inner = wrote(repo, "tag", tag_of(commit(repo), "commit", b"T"))
    point(repo, "tags/t", wrote(repo, "tag", tag_of(inner, "tag", b"T" * 1000)))
    contents = [content for _, content in tags(repo)]
    assert [len(content) > 1000 for content in contents] == [False, True]
    with pytest.raises(UnsupportedHistory, match="bytes"):
        [*tags(repo, max_bytes=1000)]


def tag_of(oid: str, kind: str, message: bytes) -> bytes:
    head = f"object {oid}\ntype {kind}\ntag t\ntagger Ada <ada@tower.example> 1 +0000\n\n"
    return head.encode() + message + b"\n"


def test_a_long_chain_of_tags_is_read_in_order(repo: Path) -> None:
    inner = commit(repo)
    chain = []
    for at in range(30):
        inner = wrote(repo, "tag", tag_of(inner, "tag" if at else "commit", b"T"))
        chain.append(inner)
        if at % 7 == 0:
            point(repo, f"tags/t{at}", inner)
    point(repo, "tags/last", inner)
    assert [oid for oid, _ in tags(repo)] == chain


def test_long_names_of_authors_are_cut(repo: Path) -> None:
    long = ["ä" * 5000 + ending for ending in "ab"]
    point(repo, "heads/main", commit(repo, commit(repo, **person(long[0], "a@x"))))
    point(repo, "heads/other", commit(repo, **person(long[1], "a@x")))
    found = survey(repo, 100, lambda count: None).authors
    expected = {author_digest(name.encode(), b"a@x"): ("ä" * 320, "a@x") for name in long}
    expected[author_digest(b"Ada", b"ada@tower.example")] = ("Ada", "ada@tower.example")
    assert {digest: (name, email) for digest, name, email in found} == expected


def test_many_authors_of_one_commit_are_too_many(repo: Path) -> None:
    tree = git(repo, "write-tree").encode()
    authors = b"".join(b"author A%d <a@x> 1 +0000\n" % at for at in range(20))
    point(repo, "heads/main", wrote(repo, "commit", b"tree %b\n%b\nM\n" % (tree, authors)))
    with pytest.raises(UnsupportedHistory, match="more than 5 authors"):
        survey(repo, 100, lambda count: None, max_authors=5)


def test_the_name_of_a_ref_can_have_any_encoding(repo: Path) -> None:
    blob = wrote(repo, "blob", b"large" * 100)
    named = f"{IMPORTED_REFS}tags/J".encode() + b"\xf6rg"
    git(repo, "update-ref", "--stdin", given=b"update %b %b\n" % (named, blob.encode()))
    found = survey(repo, 100, lambda count: None).large
    assert found["files"] == [("refs/tags/Jörg", "", blob, 500)]


def test_too_many_authors(repo: Path) -> None:
    point(repo, "heads/main", commit(repo))
    with pytest.raises(UnsupportedHistory, match="more than 0 authors"):
        survey(repo, 100, lambda count: None, max_authors=0)


def test_authors_of_a_commit_are_read() -> None:
    content = b"author A B <a@b> 1 +0\ncommitter <c> 1 +0\n\nauthor D <d> 1 +0\n"
    assert [*authors_of(content)] == [(b"A B", b"a@b"), (b"", b"c")]
    assert len(author_digest(b"A", b"b")) == 40


@pytest.mark.parametrize("filler", [b"<", b" ", b"<a "])
def test_odd_authors_take_no_time_that_grows_with_their_square(filler: bytes) -> None:
    """With such a time, this would take hours."""
    line = b"author " + filler * 1_000_000
    assert [*authors_of(line + b"\n\nx")] == []
    (found,) = authors_of(line + b"<a@b> 1 +0\n\nx")
    assert found[1].endswith(b"a@b")
    assert b"x" in person_of(filler * 1_000_000 + b"x")


@pytest.mark.parametrize("char", ["\u2028", "\x85"])
def test_line_separators_in_the_name_of_a_branch(repo: Path, char: str) -> None:
    made = commit(repo)
    point(repo, f"heads/a{char}b", made)
    assert refs(repo, IMPORTED_REFS) == {f"{IMPORTED_REFS}heads/a{char}b": (made, "commit")}
    assert rewrite(repo, {}) == {"rewritten": 0}
    assert git(repo, "rev-parse", f"refs/heads/a{char}b") == made
