"""Commands for accounts: `user`, `org`, `repo`, `app`, `token`, `source`.

Imports `console` and `service`.
"""
