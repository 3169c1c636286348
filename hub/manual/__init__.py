"""The manual: Markdown in `hub/docs`, rendered to pages with navigation and a search index.

Imports `ui`, whose templates and styles it shares, and what is below it.
"""
