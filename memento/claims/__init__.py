"""The claims of statements, and how two claims relate. Pure: no clock, no database, no model.

``reading`` turns a text into a `Statement`, ``relation`` compares two of them. The words are in
``attributes.toml``. Both would rather see nothing than see too much: a text that they cannot read
for certain claims nothing, and two statements that are not surely about one thing are distinct.
"""
