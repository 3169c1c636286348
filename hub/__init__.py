"""The hub: takes events and requests in, and answers them. It knows the store; it never imports the

worker, except in the command line, which puts both together.
"""
