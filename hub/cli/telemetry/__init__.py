"""The export of traces and metrics with OpenTelemetry, as its environment variables say.

Imports no other package of the command line.

Everything but `signals` and `running` needs the extra `otel`, and is imported only where
the variables ask for an export.
"""
