"""The HTTP protocol of a memory that another process has open, and its client.

``routes`` is the table of what can be called, made from the public methods of the manager and of
its parts. The service in ``memento.serve``, its OpenAPI description and the client here are made
from it; ``values`` encodes arguments and results, ``faults`` errors.
"""
