"""A Subversion repository, for tests on machines that have Subversion."""

import shutil
import subprocess
from pathlib import Path


def has_git_svn(*programs: str) -> bool:
    """Return whether `git svn` works on this machine and all these programs are installed."""
    if not all(shutil.which(name) for name in programs):
        return False
    return subprocess.run(["git", "svn", "--version"], capture_output=True).returncode == 0


def svn(*command: str) -> None:
    ran = subprocess.run(["svn", "-q", "--non-interactive", *command], capture_output=True)
    assert ran.returncode == 0, ran.stderr.decode()


def fill(root: Path) -> None:
    """Create the repository `repo` in `root`: a trunk with three revisions, a branch and a tag."""
    subprocess.run(["svnadmin", "create", str(root / "repo")], check=True)
    url = f"file://{root}/repo"
    svn("mkdir", "-m", "Layout", "--username", "ada", *(f"{url}/{name}" for name in
        ("trunk", "branches", "tags")))  # fmt: skip
    svn("checkout", f"{url}/trunk", str(root / "copy"))
    for number in range(3):
        (root / "copy" / f"{number}.txt").write_text(f"{number}")
        svn("add", str(root / "copy" / f"{number}.txt"))
        svn("commit", "-m", f"Ring {number}", "--username", "bob", str(root / "copy"))
    svn("copy", "-m", "B", "--username", "ada", f"{url}/trunk", f"{url}/branches/quiet")
    svn("copy", "-m", "T", "--username", "ada", f"{url}/trunk", f"{url}/tags/v1")
    for path in (root, *root.rglob("*")):
        path.chmod(0o777)
