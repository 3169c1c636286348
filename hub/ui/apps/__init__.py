"""Apps in the dashboard."""
