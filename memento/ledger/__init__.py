"""The truth: one SQLite file (``lite``), or one schema of a PostgreSQL database (``pg``).

All SQL is in this package, except the conditions on a status, which ``status.sql`` makes. Both
engines run the same statements; ``contract`` says what an engine owes.
"""
