"""The engine on a PostgreSQL server, 15 or later: for several machines that share a store."""
