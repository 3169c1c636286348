"""The scheduler: it runs each job at its time, once among all workers.

Imports `http` and what is below it.
"""
