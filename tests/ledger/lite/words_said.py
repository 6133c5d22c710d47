"""The table of the ``writer`` fixture: jobs that write a word into it, and what it holds."""


def say(word):
    """Make a job that writes a word down and returns it."""

    def job(connection):
        connection.execute("INSERT INTO said VALUES (?)", (word,))
        return word

    return job


def said(connection):
    """Return what was written down, in order."""
    return [word for (word,) in connection.execute("SELECT word FROM said ORDER BY rowid")]
