"""Commands for operators, such as `status`, `top`, `doctor`, `backup`, `key` and `migrate`.

Imports `console` and the packages below it.
"""
