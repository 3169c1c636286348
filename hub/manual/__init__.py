"""The manual: Markdown in `hub/docs`, rendered to pages with navigation and a search index.

Imports `rest` and `ui`, whose templates and styles it shares.
"""
