"""The truth: one SQLite file. All SQL is in this package."""
