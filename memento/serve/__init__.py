"""A store for other processes and machines, over HTTP; needs the extra ``serve``.

``memento.remote`` has the table of what can be called, and the client.

access    who calls: tokens, rights, namespaces, and how far each is trusted
app       the service: calls within their limits, and the routes around them
live      what is stored and changed, as it happens
limits    what one caller can take: calls a second, keys of repeated calls
metrics   what happened, for Prometheus
openapi   the description of the API, from the table of routes
mem_zero  what the clients of mem0 call, on the same manager
page      the web page, if there is one: see `app.application` for how it is mounted
running   listen, serve, and stop when asked to
"""
