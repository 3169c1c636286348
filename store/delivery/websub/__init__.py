"""WebSub: subscriptions, requests for them, topics, their feeds, and topics of other publishers.

Imports what is in `store.delivery`, and is imported there: they are one aggregate.
"""
