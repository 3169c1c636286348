"""Trends of hooks: success, latency and status codes over time."""
