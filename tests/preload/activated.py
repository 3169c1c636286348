"""`activated.py NUMBER ARGUMENTS` runs `tocsin ARGUMENTS` with a socket that listens already.

NUMBER is the file descriptor of the socket. The program does what a service manager does for a unit
with a socket.
"""

import os
import sys

number = int(sys.argv.pop(1))
if number != 3:
    os.dup2(number, 3)
os.set_inheritable(3, True)
os.environ["LISTEN_PID"] = str(os.getpid())
os.environ["LISTEN_FDS"] = "1"

from hub.cli import main  # noqa: E402 - a service manager prepares the socket first

main(prog_name="tocsin")
