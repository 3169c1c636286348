"""Commands for accounts: `user`, `org`, `repo`, `app`, `token`, `source`.

Imports `traffic` and the packages below it.
"""
