"""`tocsin help`, and the reference pages of the manual, which are generated from the code.

Imports every module that a page describes.
"""
