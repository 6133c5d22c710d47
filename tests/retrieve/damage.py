"""What may happen to a derived file: each way takes its path."""

import os


def flip(path, at):
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def linked(path):
    """Put a link to the file in its place."""
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


DAMAGE = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: os.truncate(path, 0),
    "cut off": lambda path: os.truncate(path, path.stat().st_size - 9),
    "cut in the head": lambda path: os.truncate(path, 70),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "a bit of the head": lambda path: flip(path, 60),
    "zeros": lambda path: path.write_bytes(bytes(9_000)),
    "another program's": lambda path: path.write_bytes(b"PK\x03\x04" * 3_000),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a link": linked,
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}
