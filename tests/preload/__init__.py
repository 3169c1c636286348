"""Programs of the tests, forked from a process that has imported the product.

A start takes half a second of a processor, nearly all of it for imports, and tests start hundreds
of daemons and commands. They are processes like others: children of those who start them, with
their own number, streams, environment, signals and exit code. The tests of the installation, of
systemd and of containers start the program in full.
"""
