"""The sleep: what a store does with its memories in quiet hours, a little at a time.

``tick`` runs the steps, each in a module of its own: it plans from what it reads, and changes a few
memories in each transaction. Nothing here deletes; all of it can be undone.
"""
