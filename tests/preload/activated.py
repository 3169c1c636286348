"""`activated.py NUMBER ARGUMENTS`: `tocsin ARGUMENTS` with a socket that it listens on already.

It does what a service manager does for a unit with a socket.
"""

import os
import sys

number = int(sys.argv.pop(1))
if number != 3:
    os.dup2(number, 3)
os.set_inheritable(3, True)
os.environ["LISTEN_PID"] = str(os.getpid())
os.environ["LISTEN_FDS"] = "1"

from hub.cli import main  # noqa: E402 - as a program that is started with all this

main(prog_name="tocsin")
