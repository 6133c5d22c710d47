"""The rules of the write path, and of every later change of a memory.

``remember`` writes new memories and ``change`` changes stored ones. ``slots`` settles who holds a
slot, and ``trust`` how far a source is trusted.
"""
