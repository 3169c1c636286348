"""Runs jobs at their times, once however many workers there are.

Imports `http` and what is below it.
"""
