"""The worker: delivers events, runs jobs and imports.

It knows the store; it never imports the hub.
"""
