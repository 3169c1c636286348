"""Figures of speed and size: `python -m tests.benchmarks [NAME ...]`. Nothing is asserted."""
