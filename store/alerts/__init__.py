"""Alerts and problems: the health of hooks and of the queue, and messages when it changes.

A problem is something that is wrong now. An alert is the record that one began or ended. Imports
`delivery` and the packages below it.
"""
