"""Batches: several deliveries of one hook in one request.

A batch is not stored. It is a group that is made at send time, of deliveries that the lane has
claimed, one by one like all others. Each of them keeps its own attempts, retries and state, so a
crash returns each to the store by itself, and a retry may go in another batch.

A lane whose hook wants batches starts nothing until enough deliveries wait, or until the first of
them has been due for `max_wait`. The stored due time counts, so a restart does not begin the wait
anew. `Admission` asks for that time. `Dispatcher` then hands the first delivery to a `BatchSender`,
which adds the next ones of the lane. Hooks without batches take no part in this.
"""
