"""Conversion of an hg repository on this disk to a git repository on this disk.

Run as `python -m worker.imports.hg_to_git GIT_REPOSITORY HG_REPOSITORY`.
"""

import subprocess
import sys
from pathlib import Path

EXTENSION = Path(__file__).resolve().with_name("hg_export.py")


def convert(target: Path, source: Path) -> int:
    """Convert the repository. Return 0, or the exit code of the program that failed."""
    hg = ["hg", "--cwd", str(source), "--config", f"extensions.tocsin={EXTENSION}"]
    taking = ["git", f"--git-dir={target}", "fast-import", "--quiet", "--done", "--force"]
    with (
        subprocess.Popen([*hg, "tocsin-export"], stdout=subprocess.PIPE) as writing,  # noqa: S603 - no shell, and names of our own
        subprocess.Popen(taking, stdin=writing.stdout) as reading,  # noqa: S603 - the same
    ):
        assert writing.stdout is not None
        writing.stdout.close()
    forget = ["git", f"--git-dir={target}", "update-ref", "-d", "refs/tocsin/work"]
    subprocess.run(forget, check=True)  # noqa: S603 - the same
    return writing.returncode or reading.returncode


if __name__ == "__main__":
    sys.exit(convert(Path(sys.argv[1]), Path(sys.argv[2])))
