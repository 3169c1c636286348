"""Forks the product's programs for tests from a process that has imported the product.

A start takes half a second of a processor, nearly all of it for imports, and tests start hundreds
of daemons and commands. A forked program is a process like others: it is a child of the process
that starts it, with its own id, streams, environment, signals and exit code. The tests of the
installation, of systemd and of containers start the program in full.
"""
