"""Coding agents: the supported ones, setting up their configuration, and answering their hooks."""
