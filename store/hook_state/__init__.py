"""The state of hooks: how healthy they are, whether they are paused or silenced, and lists by it.

Imports `hooks` and the packages below it.
"""
