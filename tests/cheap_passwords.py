"""Password hashes for tests. Those of the product take a tenth of a second, here it is far less."""

from functools import partial

from store.accounts import accounts

FULL = accounts.HASHING

accounts.HASHING = partial(FULL, iterations=1, lanes=1, memory_cost=8)
