"""One process for each store, which keeps it open for all agents of its user.

client  how that process is found, and when it is started: ``STARTED_AGAIN``; imports nothing slow
server  the process: its calls (``TABLE``), and when it ends: ``IDLE``, ``MOST``, ``PARTING``
pipe    an agent's standard streams; what it asked is asked again if the process ends: ``TRIES``
tokens  who may use a store over HTTP: ``RIGHTS``, ``TRUSTS``, ``FOLLOWED``

**Where.** The process listens at a Unix socket in a private folder of the user, with mode 0700:
``$XDG_RUNTIME_DIR/memento``, else ``memento-UID`` in the folder for temporary files. The name is a
hash of the real path of the store's folder, so that it is short enough for a socket. Beside it are
a lock, whose holder alone may listen, and a log. Each side asks the system which user is at the
other end, and refuses any but its own.

**Protocol.** A message is a JSON object on a line of at most 1 MiB. A client sends one with

=========== ======================================================================================
``call``    the name of the call, one of ``server.TABLE``
``root``    the real path of the store's folder
``version`` the client's version of memento
=========== ======================================================================================

and the fields of that call, and reads one line, the answer; then it may send the next message. An
answer with ``error`` reports in a sentence why the call failed; if it also has ``field``, that
field of the call is invalid. ``{"gone": true}`` means that the process is about to end, for a
client with a newer version or for another reason below: connect again, and start one if necessary.
After ``{"open": true}`` the call keeps the connection, as with an MCP client.

Optional fields of any call that needs the store: ``namespace`` ("default"), ``embedder``
("default"), ``make`` (true: create the store if there is none) and ``environ``, the settings among
the client's environment variables; see ``client.settings_here``.

**When it ends.** After 15 minutes without a client, with SIGTERM, when the store's folder or the
socket is gone, and for a newer version. It stops listening first, and finishes calls in progress.
If it is killed, the next client starts another one.
"""
