"""`tocsin help`, and the pages of the manual that are made from what they describe.

Imports everything that has a page.
"""
