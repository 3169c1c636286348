"""Figures of the installation: minute counters, the backlog, the checks of `tocsin doctor`.

Imports `accounts` and the packages below it.
"""
