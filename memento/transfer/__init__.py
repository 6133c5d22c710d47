"""Export and import: a store, or one namespace of it, as JSON Lines that any program can read.

The first line says what it is, then comes one line for each memory, link and event, and the last
line counts and digests those before it, so that a file that was cut off or changed is refused
before anything is taken from it. docs/reference/export-format.md describes the fields.

    fields   how each value of a memory is spelt in the file, and read again
    write    export
    read     import
"""
