"""Charts, as coordinates for SVG templates.

Imports the formats of the dashboard, and no page.
"""
