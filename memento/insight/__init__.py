"""Insight into memories: names that link them, chains of evidence, and overviews."""
