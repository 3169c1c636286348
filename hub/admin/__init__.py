"""What administrators see of a process: health, metrics, and who is an administrator.

Imports `rest` and what is below it.
"""
