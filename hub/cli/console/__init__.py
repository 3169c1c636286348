"""The parts that commands share: arguments, options, output, exit codes.

Imports `service` and the packages below it.
"""
