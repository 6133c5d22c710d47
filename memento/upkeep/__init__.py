"""Maintenance of a store: backup, restore, erase, doctor, salvage, export, import, history.

backup       what a backup holds; restore, also to a moment; salvage of a damaged store
doctor       what counts as damage, and what is repaired: derived data, never a memory
erase        what is removed for good, in which order, and what it does not reach: ``NOT_REACHED``;
             the bytes of a file: `compact` in ``ledger.lite.store``
export, other_formats  the lines of an export; what other programs' formats can hold: ``WRITERS``
line_format  how each field of a memory is spelt in an export and checked on return; ``FORMAT``
import_, import_lines  how an import is checked, then written, and resumed; which lines are taken,
             and how they become memories: ``TAKEN``, ``BITE``
move         how a store goes into another engine
lineage      the history of a memory, and the counts of ``stats``
vault_note   a memory as a note, and which fields a person may change: ``EDITED``
"""
