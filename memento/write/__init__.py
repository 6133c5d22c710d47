"""The rules of the write path, and of every later change of a memory.

remember         the order of one ``add``: insert, merge repeats, take slots, link, let the ring
                 overflow
merge, replacing  what a repeat changes, field by field; when an id is taken over
trust            what is quarantined (`trust.judge` is asked first, so it takes no slot until it is
                 approved), and taken back with its source: by origin, not by content
slots            who holds a slot after each change: its table; only `slots.contend` decides
locks            what a lock or a pin forbids: its table
change           update, forget, restore, move, archive
undo             what is taken back, and when a memory is left as it is
verdicts         who may give which verdict, which memories an answer cites, and taking it back;
                 ``SHARED``
observed         what a lesson does to what is stored: repeat, replace, contradict or new, in this
                 order
settling, succession  what is linked in the background: contradictions (``NEVER``), changes seen by
                 a model (``CHANGES_AT``); neither hides anything
scope_guess, scope_moves  which scope a text belongs to (``SHORT``); define, merge, promote
scope_promotion  what sibling scopes say alike: ``ALIKE``, ``SIBLINGS``
session_marks    begin and end of a session, checkpoints; whether a session broke off
steps            parts that several of these share
"""
