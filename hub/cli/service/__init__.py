"""The running process: hub and worker, configuration, listeners, TLS, logs, the service manager.

Imports `telemetry` and `http_server`, and no command.
"""
