"""Files become drafts: notes, documents and conversations, for ``memento ingest FILE``.

formats     read, detect; Format: the formats that can be read, one line each
survey      survey: what is in files, folders and archives, before anything is written
readers     one module for each family of formats
paragraphs  text and Markdown, in parts that keep their headings and their order
source      lines, JSON values and places of a file, and the values of a record, checked
"""

from memento.ingest.formats import Format, detect, read
from memento.ingest.survey import Found, Survey, survey

__all__ = ["Format", "Found", "Survey", "detect", "read", "survey"]
