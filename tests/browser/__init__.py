"""Tests of the dashboard in a real browser.

They are in a package, so that fixtures of package scope end after its last test.
"""
