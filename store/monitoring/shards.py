"""Shards: each process counts in rows of its own, so that none waits for another."""

import os
import secrets

SHARDS = 1024
# In a container, each process may have the id 1. After a fork, two have the same salt.
SALT = secrets.randbelow(SHARDS)


def own_shard() -> int:
    """Return the number of this process's rows. If two processes share it, one may wait."""
    return (SALT + os.getpid()) % SHARDS
