"""One process for each store, which keeps it open for all agents of its user.

``client`` reaches that process, and starts it if there is none; it imports nothing that is slow.
``server`` is that process, and ``pipe`` ties an agent's standard streams to it.

**Where.** The process listens at a Unix socket in the user's own folder for such things, with mode
0700: ``$XDG_RUNTIME_DIR/memento``, else ``memento-UID`` in the folder for temporary files. The name
is a hash of the real path of the store's folder, so that it is short enough for a socket wherever
the store is. Beside it are a lock, whose holder alone may listen, and a log. Each side asks the
system for the user at the other end, and talks to nobody else.

**What is said.** A message is a JSON object on a line of at most 1 MiB. A client sends one with

=========== ======================================================================================
``call``    what it wants: a name in ``server.TABLE``, which has a line for each kind of client
``root``    the real path of the store's folder
``version`` the client's version of memento
=========== ======================================================================================

and the fields of that call, and reads one line: the answer. It may then send the next one. An
answer with ``error`` says in a sentence why there is no other; if it has ``field`` as well, that
field of the call cannot be accepted. ``{"gone": true}`` means that the process ends for a client
with a newer version, or because its time has come: connect again, and start one if need be. After
``{"open": true}`` the connection belongs to the call, as that of an MCP client does.

Fields that any call may have, if it needs the store: ``namespace`` ("default"), ``embedder``
("default"), ``make`` (true: a store that is not there is made) and ``environ``, the variables of
the client's environment that are settings; see ``client.settings_here``.

**When it ends.** After 15 minutes without a client, with SIGTERM, when the store's folder or the
socket is gone, and for a newer version. It stops listening first, and finishes what it has begun.
If it is killed, the next client starts another one.
"""
