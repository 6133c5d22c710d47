"""A store for other processes and machines, over HTTP; needs the extra ``serve``.

``memento.remote`` has the table of what can be called, and the client.

access    who calls: tokens, rights, namespaces and trust
app       the service: calls within their limits, and other routes
connections  limits of a connection, before there is a token
live      a stream of new memories and changes
limits    limits for each caller: calls a second, keys of repeated calls
metrics   counters for Prometheus
openapi   the description of the API, from the table of routes
mem_zero  the API of mem0, on the same manager
page      the web page, if there is one: see `app.application` for how it is mounted
running   listen, serve, and stop on a signal
"""
