"""The rules of the write path, and of every later change of a memory.

``remember`` writes new memories and ``change`` changes stored ones. ``slots`` settles who holds a
slot: on ``add``, one memory supersedes another there. ``settling`` compares statements in the
background and supersedes those that no longer hold. ``trust`` says how far a source is trusted, and
``verdicts`` what feedback does.
"""
