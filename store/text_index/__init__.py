"""The index of the texts in payloads and answers: which attempts may contain a text.

Imports `database` and the packages below it. It keeps hashes of parts of texts, and no texts.
"""
