"""The catalogue of events: examples of their payloads."""
