"""The folders in which pytest finds helpers by bare names, for programs that it does not start."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
IMPORT_PATHS = [
    str(ROOT / folder) for folder in PROJECT["tool"]["pytest"]["ini_options"]["pythonpath"]
]
