"""Imports of a repository's history with git, hg and Subversion, one round at a time.

Imports `http`.
"""
