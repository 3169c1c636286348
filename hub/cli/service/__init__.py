"""The running process: composition, configuration, listeners, TLS, logs, the service manager.

Imports no command.
"""
