"""Entry point of `python -m tocsin`, which is the command `tocsin`."""

from hub.cli import main

main(prog_name="tocsin")
