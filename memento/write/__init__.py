"""The rules of the write path, and of every later change of a memory.

``remember`` writes new memories and ``change`` changes stored ones; ``replacing`` puts a new memory
over the one that has its id. ``slots`` settles who holds a slot: on ``add``, one memory supersedes
another there. ``settling`` and ``succession`` compare statements in the background: they link those
that contradict each other, or of which one changes the other, and hide none. ``trust`` says how far
a source is trusted, and ``verdicts`` what feedback does.
"""
