"""The hub: accepts events and API requests.

It uses the store. Only its command line imports the worker, to run both in one process.
"""

__version__ = "0.1.0"
