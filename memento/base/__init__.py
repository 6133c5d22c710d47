"""Helpers that depend on no other package of memento: time, files, paths, names, display."""
