"""The states of a delivery, as the table `delivery` has them."""

WAITING, DELIVERED, DEAD, FILTERED, BEHIND = range(5)
"""BEHIND waits for earlier deliveries of its key. A hook's filter left FILTERED out."""
