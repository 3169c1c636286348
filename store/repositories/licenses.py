"""The license files of repositories, and the known licenses that they match."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from store.database.connection import Connection, Row, json_array
from store.errors import Invalid
from store.repositories import license_catalog
from store.repositories.license_catalog import OTHER

COLUMNS = "repo_id, branch, path, sha, content, html, license, updated_at"
LARGEST = 256 * 1024
"""The limit of a license file in bytes."""
MARKDOWN = (".md", ".markdown", ".mkd", ".mdown")
# In characters. A shorter match is a title or a link, which another license's text may contain.
MENTION = 100


@dataclass(slots=True)
class LicenseFile:
    """A license file to be stored.

    Its license and its HTML are computed here, on the caller's thread, because that may take long.
    """

    path: str
    content: bytes
    license: str = field(init=False)
    """The key of the known license that it matches, or OTHER."""
    html: str | None = field(init=False)
    """Rendered and not sanitised. None if the file is not Markdown."""
    sha: str = field(init=False)
    """The SHA of the file's git blob."""

    def __post_init__(self) -> None:
        if not 0 < len(self.path) <= 255 or "\0" in self.path or self.path.startswith("/"):
            raise Invalid(f"{self.path!r} is no path of a license file", field="path")
        if len(self.content) > LARGEST:
            raise Invalid(f"a license file is at most {LARGEST:,} bytes", field="content")
        text = self.content.decode(errors="replace")
        self.license = recognize(text)
        markdown = self.path.lower().endswith(MARKDOWN)
        self.html = _rendered(text) if markdown else None
        blob = b"blob %d\0" % len(self.content) + self.content
        self.sha = hashlib.sha1(blob, usedforsecurity=False).hexdigest()


def _rendered(text: str) -> str:
    from markdown_it import MarkdownIt

    made: str = MarkdownIt("commonmark").render(text.replace("\0", ""))
    return made


def recognize(text: str) -> str:
    """Return the key of the one known license that this text matches, or OTHER."""
    from licenseclassifier import identify_license

    found = identify_license(text)
    whole = [match for match in found if match.end - match.start >= MENTION] or found
    keys = {match.id.lower() for match in whole}
    if len(keys) != 1:
        return OTHER
    known = license_catalog.get(keys.pop().removesuffix("-only").removesuffix("-or-later"))
    return OTHER if known is None else known.key


def put(db: Connection, repo_id: int, branch: str, file: LicenseFile) -> bool:
    """Set the branch's license file. Return False if nothing changes."""
    given = {
        "repo_id": repo_id,
        "branch": branch,
        "path": file.path,
        "sha": file.sha,
        "content": file.content,
        "html": file.html,
        "license": file.license,
    }
    changed = db.execute(
        f"INSERT INTO license_file ({COLUMNS}) VALUES (:repo_id, :branch, :path, :sha, :content,"
        " :html, :license, :now) ON CONFLICT (repo_id, branch) DO UPDATE SET path = excluded.path,"
        " sha = excluded.sha, content = excluded.content, html = excluded.html,"
        " license = excluded.license, updated_at = excluded.updated_at"
        " WHERE license_file.sha <> excluded.sha OR license_file.path <> excluded.path"
        " OR license_file.license <> excluded.license",
        **given,
    )
    return changed > 0


def get(db: Connection, repo_id: int, branch: str) -> Row | None:
    """Return the branch's license file (COLUMNS), or None."""
    return db.find(f"SELECT {COLUMNS} FROM license_file", repo_id=repo_id, branch=branch)


def remove(db: Connection, repo_id: int, branch: str) -> bool:
    """Delete the branch's license file. Return False if there is none."""
    return db.delete("license_file", repo_id=repo_id, branch=branch) > 0


def license_of(db: Connection, repo_ids: Iterable[int]) -> dict[int, str]:
    """Return repository id to the key of the license on its default branch, if it has one."""
    return db.mapping(
        "SELECT r.id, f.license"
        f" FROM {db.each('ids', id='integer')} AS i JOIN repository r ON r.id = i.id"
        " JOIN license_file f ON f.repo_id = r.id AND f.branch = r.default_branch",
        ids=json_array(repo_ids),
    )
