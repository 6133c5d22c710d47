"""Insight into memories: names that link them, chains of evidence, the past at a glance."""
