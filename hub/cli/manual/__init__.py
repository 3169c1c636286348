"""`tocsin help`, and the reference pages of the manual, which are generated from the code.

Imports `state` and the packages below it: every module that a page describes.
"""
