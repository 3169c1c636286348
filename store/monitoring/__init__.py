"""Figures of the installation: counters a minute, the backlog, what `tocsin doctor` checks.

Imports `accounts` and what is below it.
"""
