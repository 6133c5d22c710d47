"""The content of a string that a caller gave. Pure."""


def plain(text: str) -> str:
    """Return the content of a string as a ``str``, without calling a method of a subclass."""
    return str.__str__(text)
