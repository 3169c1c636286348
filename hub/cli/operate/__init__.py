"""Commands for operators: `status`, `top`, `doctor`, `backup`, `key`, `migrate` and their like.

Imports `console` and `service`.
"""
