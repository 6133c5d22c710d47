"""The HTTP protocol of a memory that another process has open, and its client.

routes  what can be called, and who may: one table, ``ROUTES``, made from the public methods
values  how arguments and results become JSON and back, by their annotations
faults  which HTTP status an error has: ``STATUSES``
client  the methods of ``MemoryManager``, sent to a service; ``SECONDS``

The service in ``memento.serve``, its OpenAPI description and the client are made from the table.
"""
