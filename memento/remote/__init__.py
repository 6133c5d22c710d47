"""A memory that another process has open: what is said to it over HTTP, and the client.

``routes`` is the one table of what can be called, made from the public methods of the manager and
of its parts. The service in ``memento.serve``, its description in OpenAPI, and the client here are
made from it; ``values`` says how arguments and results are written, ``faults`` how errors are.
"""
