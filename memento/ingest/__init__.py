"""Read files into drafts: notes, documents and conversations, for ``memento ingest FILE``.

formats     read, detect; Format: the formats that can be read, one line each
survey      survey: check files, folders and archives before anything is written
readers     one module for each family of formats
paragraphs  text and Markdown, in parts that keep their headings and their order
source      lines and JSON values of a file with their places, and checks of values
"""

from memento.ingest.formats import Format, detect, read
from memento.ingest.survey import Found, Survey, survey

__all__ = ["Format", "Found", "Survey", "detect", "read", "survey"]
