"""`python -m tocsin` is `tocsin`."""

from hub.cli import main

main(prog_name="tocsin")
