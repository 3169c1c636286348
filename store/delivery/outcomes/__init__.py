"""Outcomes of attempts: their records, and their effects on deliveries and hooks."""
