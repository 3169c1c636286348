"""The sections of a state document: how its things are identified, found and written.

Imports `state.base`, `state.changes`, `state.payloads` and `state.ages`.
"""
