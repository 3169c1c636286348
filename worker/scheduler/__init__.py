"""The scheduler: it runs each job at its time, once among all workers.

Imports no other package of the worker.
"""
