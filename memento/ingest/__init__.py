"""Files become drafts: notes, documents and conversations, for ``memento ingest FILE``.

formats        read, detect; Format: the formats that can be read, one line each
paragraphs     text and Markdown, in parts that keep their headings and their order
pages          HTML and CSV, without what a page hides
conversations  OpenAI messages, ShareGPT, LoCoMo
drafts         JSON objects with the fields of a draft
source         lines, JSON values and places of a file, and the values of a record, checked
"""

from memento.ingest.formats import Format, detect, read

__all__ = ["Format", "detect", "read"]
