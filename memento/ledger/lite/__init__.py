"""The ledger in one SQLite file. Only ``ledger.opening`` knows this package."""
