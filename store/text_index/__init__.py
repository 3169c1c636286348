"""The index of the texts in payloads and answers: which attempts may contain a text.

May import the database. It keeps hashes of parts of texts, and no texts.
"""
